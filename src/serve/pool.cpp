#include "serve/pool.h"

#include <algorithm>

namespace tilecast {

Count most_at_once(const PoolOptions& pool, Count tokens) {
  return std::min(pool.limits.max_sequences, pool.blocks / std::max<Count>(1, pool.geometry.blocks_for(tokens)));
}

StepSpent step_spent(StepBatch& batch, const PoolOptions& o, bool from_idle) {
  const HostTimes& host = o.host;
  const bool graph = batch.prefill.empty() || host.graphs_for_prompts;
  const Count size = graph ? captured_size(host.graphs, batch.tokens()) : 0;
  if (size > 0) batch.padding = size - batch.tokens();
  const StepCost::Spent kernels = o.cost->spent(batch);
  const bool drafts = batch.decodes > 0 && o.limits.speculation.draft > 0;
  const double more = drafts ? 1 + o.draft_cost * static_cast<double>(o.limits.speculation.draft) : 1;
  const StepExtra extra = extra_of(o.features, batch);
  StepSpent spent{{}, kernels.time * more + extra.gpu, kernels.joules * more + extra.joules};
  const Seconds issued = size == 0 ? std::max(spent.gpu, host.per_launch * static_cast<double>(o.launches)) : spent.gpu;
  const Seconds between = between_steps(host, batch.sequences()) + extra.host;
  spent.time = !host.overlapped || from_idle ? issued + between : std::max(issued + host.gap, between);
  spent.time += extra.before;
  return spent;
}

Status check(const PoolOptions& pool, const char* name) {
  if (!pool.cost) return field_error(name, "has no step cost");
  if (pool.replicas < 1) return field_error(name, "needs a replica at least");
  if (pool.blocks < 1)
    return field_error(name, "has no memory left for keys and values", "a larger GPU, or more of them");
  if (pool.limits.max_sequences < 1 || pool.limits.max_tokens < 1)
    return field_error(name, "its limits of sequences and tokens must be at least 1");
  if (pool.limits.max_tokens < 1 + pool.limits.speculation.draft)
    return field_error(name, "a step must have room for a token and its drafts");
  return Ok{};
}

}  // namespace tilecast
