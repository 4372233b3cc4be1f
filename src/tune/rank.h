// Configurations of a fused MoE or of a plain product, ordered by forecast.
#pragma once

#include <span>
#include <vector>

#include "kernel/gemm_tile.h"
#include "kernel/moe.h"
#include "tune/triton_cost.h"

namespace tilecast {

struct RankedConfig {
  TritonConfig config;
  Seconds forecast;                // of all passes
  std::vector<TritonCost> passes;  // up and down, or the one product
};

// Best first; of equal forecasts, the smaller configuration first. Engines launch both products of a MoE with one
// configuration, so the sum decides, unless `shape.pass` names one. Configurations that cannot run are left out.
Result<std::vector<RankedConfig>> rank_fused_moe(const Moe& shape, const Format& format, const Gpu& gpu,
                                                 std::span<const TritonConfig> configs, bool weights_cold = true,
                                                 const TritonConstants& constants = {});
Result<std::vector<RankedConfig>> rank_gemm(const GemmProblem& problem, const Format& format, const Gpu& gpu,
                                            std::span<const TritonConfig> configs,
                                            const TritonConstants& constants = {});

// The first `count`; of configurations that differ by GROUP_SIZE_M alone and have the same forecast, the first only.
std::vector<RankedConfig> distinct_best(std::span<const RankedConfig> ranked, std::size_t count);

}  // namespace tilecast
