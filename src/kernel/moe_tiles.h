// Which tiles the Triton kernel of fused MoE runs with: the engines' public rules, in one place.
#pragma once

#include "kernel/context.h"
#include "kernel/grouped_gemm.h"
#include "kernel/moe.h"

namespace tilecast {

// The configuration vLLM or SGLang launches its fused_moe kernel with. Engines
// choose once for both products, from the tokens before routing and the experts of the rank.
GemmChoice triton_moe_choice(const Moe& shape, const Format& format, const MathPath& math, const Context& context);

// DRAM traffic of the weights under this configuration, over their size: a main-loop step that takes less than a cache
// line of each weight row leaves DRAM bursts half used.
double weight_overfetch(const GemmChoice& choice, const Format& format, const Gpu& gpu);

}  // namespace tilecast
