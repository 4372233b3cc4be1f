#include "tune/rank.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "kernel/moe_loads.h"

namespace tilecast {
namespace {

Result<std::vector<RankedConfig>> ranked(std::span<const TritonProblem> passes, const Format& format, const Gpu& gpu,
                                         std::span<const TritonConfig> configs, const TritonConstants& constants) {
  const Result<MathPath> math = math_path(format, gpu);
  if (!math) return math.error();
  if (math->pipe != Pipe::tensor || gpu.vendor != Vendor::nvidia)
    return error("no Triton configuration is forecast for " + std::string(format.name) + " on " + gpu.name,
                 "what is known of the kernel holds for NVIDIA's tensor pipes");
  std::vector<RankedConfig> found;
  found.reserve(configs.size());
  for (const TritonConfig& config : configs) {
    if (!why_illegal(config, format, gpu).empty()) continue;
    RankedConfig one{config, {}, {}};
    for (const TritonProblem& pass : passes) {
      one.passes.push_back(triton_cost(pass, config, format, *math, gpu, constants));
      one.forecast += one.passes.back().total;
    }
    found.push_back(std::move(one));
  }
  if (found.empty())
    return error("no configuration can run on " + gpu.name, "another dtype, or a GPU with more shared memory");
  std::sort(found.begin(), found.end(), [](const RankedConfig& a, const RankedConfig& b) {
    return std::tie(a.forecast, a.config) < std::tie(b.forecast, b.config);
  });
  return found;
}

bool differ_by_group_alone(const RankedConfig& a, TritonConfig b) {
  b.group = a.config.group;
  return a.config == b;
}

}  // namespace

Result<std::vector<RankedConfig>> rank_fused_moe(const Moe& shape, const Format& format, const Gpu& gpu,
                                                 std::span<const TritonConfig> configs, bool weights_cold,
                                                 const TritonConstants& constants) {
  if (const Status fine = shape.check(); !fine) return fine.error();
  const MoeLoads loads = moe_loads(shape);
  if (loads.rows.empty()) return error("no token reaches an expert of this rank", "more tokens, or a smaller ep");
  const Count experts = shape.local_experts(), inter = shape.local_inter();
  const Count share = std::min(shape.topk, ceil_div(loads.total, shape.tokens));
  std::vector<TritonProblem> passes;
  if (shape.pass != MoePass::down)
    passes.push_back({loads.rows, experts, shape.gated ? 2 * inter : inter, shape.hidden, share, weights_cold});
  if (shape.pass != MoePass::up) passes.push_back({loads.rows, experts, shape.hidden, inter, 1, weights_cold});
  return ranked(passes, format, gpu, configs, constants);
}

Result<std::vector<RankedConfig>> rank_gemm(const GemmProblem& problem, const Format& format, const Gpu& gpu,
                                            std::span<const TritonConfig> configs, const TritonConstants& constants) {
  const std::vector<Count> rows = {problem.m};
  const TritonProblem pass{rows, 1, problem.n, problem.k, 1, true};
  return ranked({&pass, 1}, format, gpu, configs, constants);
}

std::vector<RankedConfig> distinct_best(std::span<const RankedConfig> ranked, std::size_t count) {
  std::vector<RankedConfig> best;
  for (const RankedConfig& one : ranked) {
    if (best.size() >= count) break;
    const bool told_apart = std::none_of(best.begin(), best.end(), [&](const RankedConfig& kept) {
      return differ_by_group_alone(kept, one.config) && std::abs(kept.forecast / one.forecast - 1) < 1e-9;
    });
    if (told_apart) best.push_back(one);
  }
  return best;
}

}  // namespace tilecast
