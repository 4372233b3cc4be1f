#include "api/fit_notes.h"

#include <algorithm>
#include <utility>

#include "parallel/rank_memory.h"
#include "parallel/smaller_steps.h"

namespace tilecast {
namespace {

void add(Result<std::string> note, std::vector<std::string>& notes) {
  if (note && !note->empty()) notes.push_back(*std::move(note));
}

}  // namespace

void add_fit_note(const AskedStep& asked, const std::vector<StepMemory>& ranks, std::vector<std::string>& notes) {
  if (!is_budgeted(asked.run)) return;
  const Gpu& gpu = asked.cluster ? asked.cluster->gpu : *asked.gpu;
  const auto sure = [&](const StepMemory& m) {
    CacheBudget budget;
    budget.visible = visible_memory(gpu);
    budget.cache = m.usable - m.need.weights - m.need.activations - m.need.workspace;
    return room_is_sure(budget);
  };
  if (std::all_of(ranks.begin(), ranks.end(), sure)) return;
  const RankLayout layout = asked.cluster ? asked.setting.layout : RankLayout{};
  const EngineOptions& engine = asked.run.engine;
  ServingLimits limits = default_limits(engine.kind, gpu);
  limits.attention_dp = layout.ep > 1 ? layout.dp : 1;
  limits.ranks = Count{layout.tp} * layout.pp * limits.attention_dp;
  add(fit_note({std::get<ModelSpec>(asked.run.model), layout, engine, gpu, limits}), notes);
}

void add_fit_note(const DeploymentOptions& o, std::vector<std::string>& notes) {
  const SchedulerLimits own = limits_of(o);
  ServingLimits limits{own.max_sequences, own.max_tokens, own.chunk};
  if (o.spread) limits.ranks = o.spread->layout.ranks(), limits.attention_dp = o.spread->layout.dp;
  add(fit_note({o.model, o.spread ? o.spread->layout : RankLayout{}, o.engine, o.spread ? o.spread->cluster.gpu : o.gpu,
                limits, o.memory_fraction}),
      notes);
}

}  // namespace tilecast
