// Products on AMD's matrix cores from CDNA3 on, as libraries tuned for each shape run them: hipBLASLt, and AITER's
// kernels from Composable Kernel and in assembly.
//
// What sets these kernels apart from those of asynchronous tensor pipes: waves alternate between reading operands from
// the LDS and multiplying, so the two times add up; results pass through the LDS on their way out; the parts of a split
// are accumulated with atomics into a zeroed result.
#pragma once

#include "kernel/context.h"
#include "kernel/grouped_gemm.h"

namespace tilecast {

// Whether a product of this path has such a plan on the card.
bool takes_mfma(const MathPath& math, const Gpu& gpu);

// Weights laid out beforehand as lanes need them go from memory into registers, bypassing the LDS; so do those of
// hipBLASLt's 16-bit kernels (DirectToVgpr), but not of CK's batched ones.
bool has_direct_weights(const Format& format, const Context& context);

// The tile and split that tuning finds: the least cost over those offered.
GemmChoice choose_mfma(const GemmProblem& problem, const Format& format, const MathPath& math, const Gpu& gpu,
                       const Context& context);
GemmChoice choose_grouped_mfma(const GroupedProblem& problem, const Format& format, const MathPath& math,
                               const Gpu& gpu, const Context& context);

}  // namespace tilecast
