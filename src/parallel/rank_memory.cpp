#include "parallel/rank_memory.h"

#include <algorithm>

#include "constants/engine.h"
#include "engine/cache_block.h"
#include "engine/run.h"
#include "parallel/split.h"
#include "parallel/stages.h"

namespace tilecast {

using namespace constants;

Bytes reserved_memory(const MemoryNeed& need) {
  return need.total() + need.activations * kFragmentation.value + gigabytes(kAllocatorRest);
}

Result<std::vector<MemoryNeed>> profile_needs(const ModelSpec& spec, const RankLayout& layout,
                                              const EngineOptions& engine, const Workload& profile, const Gpu& gpu) {
  const auto prepared = prepare(Run{rank_spec(spec, layout), profile, engine, {}});
  if (!prepared) return prepared.error();
  const auto need_of = [&](const Graph& graph) {
    return memory_need(graph, profile, engine, prepared->cache, {}, gpu);
  };
  std::vector<MemoryNeed> needs;
  if (layout.pp == 1) needs = {need_of(prepared->forward)};
  else
    for (const Graph& part : rank_parts(spec, layout, prepared->forward)) needs.push_back(need_of(part));
  if (!spec.tower) return needs;
  // Images come in at the first stage; tensor parallel ranks divide the tower where its heads allow it.
  RankLayout abreast;
  abreast.tp = layout.tp;
  const ModelSpec& whole = *spec.tower->encoder;
  const ModelSpec encoder = check(abreast, whole) ? rank_spec(whole, abreast) : whole;
  if (auto fine = add_tower(needs.front(), spec, encoder, engine, profile.tokens(), gpu); !fine) return fine.error();
  return needs;
}

Status budget_stages(const ModelSpec& spec, const RankLayout& layout, const EngineOptions& engine, const Gpu& gpu,
                     std::span<StageForecast> stages) {
  ServingLimits limits = default_limits(engine.kind, gpu);
  limits.attention_dp = layout.ep > 1 ? layout.dp : 1;  // else they are replicas
  limits.ranks = Count{layout.tp} * layout.pp * limits.attention_dp;
  const ModelSpec of_rank = rank_spec(spec, layout);
  const Workload profile = profile_workload(of_rank, profile_tokens(engine.kind, limits));
  const auto profiles = profile_needs(spec, layout, engine, profile, gpu);
  if (!profiles) return profiles.error();
  Count layers = 0;
  for (const StageForecast& stage : stages) layers += stage.layers;
  for (std::size_t rank = 0; rank < stages.size(); ++rank) {
    StageForecast& stage = stages[rank];
    const CacheBudget budget = cache_budget(engine.kind, gpu, limits, (*profiles)[rank], spec.vocab);
    const BudgetedNeed both = beside_budget(stage.memory, budget);
    stage.memory = both.need, stage.usable = both.usable;
    // Keys and values of this stage's layers alone.
    const double share = layers > 0 ? static_cast<double>(stage.layers) / static_cast<double>(layers) : 1;
    if (share > 0)
      stage.cache_tokens = tokens_in(budget.cache * (1 / share), cache_need(of_rank), engine.precision,
                                     cache_block(engine.kind, gpu, spec).tokens);
  }
  return Ok{};
}

}  // namespace tilecast
