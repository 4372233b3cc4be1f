// Which tiles the Triton kernel of fused MoE runs with: the engines' public rules, in one place.
#pragma once

#include "kernel/context.h"
#include "kernel/grouped_gemm.h"
#include "kernel/moe.h"

namespace tilecast {

// The configuration vLLM or SGLang launches its fused_moe kernel with. Engines
// choose once for both products, from the tokens before routing and the experts of the rank; where a tuned file exists
// we take the least cost for each.
GemmChoice triton_moe_choice(const Moe& shape, const GroupedProblem& problem, const Format& format,
                             const MathPath& math, const Gpu& gpu, const Context& context);

// The tile of a grouped product: the least cost over the tiles offered, as an autotuner finds it, unless the engine is
// known not to look.
GemmChoice grouped_moe_choice(const GroupedProblem& problem, const Format& format, const MathPath& math, const Gpu& gpu,
                              const Context& context);

// What short pieces cost: a main-loop step that takes less than a cache line of each row leaves requests to L2 and
// bursts of DRAM partly used. Times over those of whole lines.
struct PieceCost {
  double l2 = 1, dram = 1;
};
PieceCost piece_cost(const GemmChoice& choice, const Format& format, const Gpu& gpu);

}  // namespace tilecast
