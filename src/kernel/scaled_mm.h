// Which tiles the fp8 products of the engines run with: CUTLASS kernels behind a public table, no library's choice.
#pragma once

#include "kernel/context.h"
#include "kernel/gemm_tile.h"

namespace tilecast {

// Whether this engine sends products of this format to kernels of this kind.
bool takes_scaled_mm(const Format& format, const Context& context);

// `trtllm_blocks`: TensorRT-LLM's product of operands with a scale for every 128 of k.
GemmChoice choose_scaled_mm(const GemmProblem& problem, const MathPath& math, const Gpu& gpu,
                            bool trtllm_blocks = false);

}  // namespace tilecast
