// The tiles that the engines' fp8 products run with: CUTLASS kernels chosen by a public table, not by a library.
#pragma once

#include <optional>

#include "kernel/context.h"
#include "kernel/gemm_tile.h"

namespace tilecast {

// Whose kernels they are: the tables differ before Hopper and on workstation Blackwell.
enum class ScaledKernels : std::uint8_t {
  vllm,
  sglang,
  trtllm_blocks,  // TensorRT-LLM's product of operands with a scale for every 128 of k
  fp4             // nvfp4, the same in all engines
};

// Whether this engine runs products of this format on kernels of this kind, and on whose.
std::optional<ScaledKernels> scaled_kernels(const Format& format, const Gpu& gpu, const Context& context);

GemmChoice choose_scaled_mm(const GemmProblem& problem, const MathPath& math, const Gpu& gpu, ScaledKernels kernels);

}  // namespace tilecast
