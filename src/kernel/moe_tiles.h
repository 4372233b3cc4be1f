// The tiles that the Triton kernel of fused MoE runs with: the engines' public rules.
#pragma once

#include "kernel/context.h"
#include "kernel/grouped_gemm.h"
#include "kernel/moe.h"

namespace tilecast {

// A configuration of Triton's kernel, without the order of its CTAs.
struct TritonBlock {
  int m = 0, n = 0, k = 0, warps = 4, stages = 3;  // of the last two, Triton's own defaults
};
// get_default_config of vLLM up to 0.14 (fused_moe.py) and of SGLang 0.5 (fused_moe_triton_config.py): two
// configurations, told apart by more tokens than experts of the rank. `input`: what the tensor pipe multiplies.
TritonBlock block_by_experts(const Moe& shape, const Format& format, DType input);
// get_default_config of vLLM in 2026: by the tokens alone. fp8 blocks fix N and K at the quantisation block, 128.
TritonBlock block_by_tokens(const Moe& shape, const Format& format, DType input);

// The configuration vLLM or SGLang launches its fused_moe kernel with. Engines choose once for both products, from the
// tokens before routing and the experts of the rank; if a tuned file exists, we take the least cost for each.
GemmChoice triton_moe_choice(const Moe& shape, const GroupedProblem& problem, const Format& format,
                             const MathPath& math, const Gpu& gpu, const Context& context);

// The tile of a grouped product: the least cost over the tiles offered, as an autotuner finds it, unless the engine is
// known not to look.
GemmChoice grouped_moe_choice(const GroupedProblem& problem, const Format& format, const MathPath& math, const Gpu& gpu,
                              const Context& context);

// The cost of short pieces: a main-loop step that reads less than a cache line of each row uses L2 requests and DRAM
// bursts only partly. Time relative to whole lines.
struct PieceCost {
  double l2 = 1, dram = 1;
};
PieceCost piece_cost(const GemmChoice& choice, const Format& format, const Gpu& gpu);

}  // namespace tilecast
