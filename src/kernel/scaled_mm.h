// Which tiles the fp8 products of vLLM and SGLang run with: CUTLASS kernels behind a public table, no library's choice.
#pragma once

#include "kernel/context.h"
#include "kernel/gemm_tile.h"

namespace tilecast {

// Whether this engine sends products of this format to its CUTLASS scaled_mm.
bool takes_scaled_mm(const Format& format, const Context& context);

GemmChoice choose_scaled_mm(const GemmProblem& problem, const MathPath& math, const Gpu& gpu);

}  // namespace tilecast
