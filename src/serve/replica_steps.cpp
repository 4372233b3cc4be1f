#include "serve/replica_steps.h"

#include <algorithm>
#include <utility>

namespace tilecast {

void ReplicaSteps::start(ServingReplica& r) {
  if (r.options.stages > 1) return enter_pipeline(r);
  const auto [first, last] = in_step_with(r);
  for (Count i = first; i < last; ++i)
    if (replicas_[static_cast<std::size_t>(i)]->busy) return;
  // Those that share experts start together and wait for the slowest.
  Seconds time;
  const bool hold = !r.planned && holds_prompts(first, last);
  for (Count i = first; i < last; ++i) {
    ServingReplica& each = *replicas_[static_cast<std::size_t>(i)];
    if (each.planned) std::swap(each.now, each.next);
    else each.scheduler->plan(each.now, hold);
    each.planned = false;
    if (each.now.items.empty()) continue;
    each.adapters.note(each.now);
    each.spent = step_spent(each.now.batch, each.options, each.free_at < events_.now());
    wait_for_keys(each.spent, each.now.moves, each.options);
    if (!std::exchange(each.warm, true)) each.spent.time += each.options.cold_start;
    time = std::max(time, each.spent.time);
  }
  for (Count i = first; i < last; ++i) {
    ServingReplica& each = *replicas_[static_cast<std::size_t>(i)];
    if (!each.now.items.empty()) run_step(each, time);
  }
  plan_next(first, last);
}

// tensorrt_llm/_torch/pyexecutor/py_executor.py, _balance_adp_requests: prompts wait until every rank has some,
// unless they have waited long enough or a rank would have nothing to do.
bool ReplicaSteps::holds_prompts(Count first, Count last) {
  ServingReplica& head = *replicas_[static_cast<std::size_t>(first)];
  if (head.options.limits.balance_steps == 0) return false;
  bool all_wait = true, some_wait = false, all_run = true;
  for (Count i = first; i < last; ++i) {
    const Scheduler& scheduler = *replicas_[static_cast<std::size_t>(i)]->scheduler;
    all_wait = all_wait && scheduler.waiting() > 0, some_wait = some_wait || scheduler.waiting() > 0;
    all_run = all_run && scheduler.running() > 0;
  }
  const bool hold = !all_wait && all_run && some_wait && ++head.held_back < head.options.limits.balance_steps;
  if (!hold) head.held_back = 0;
  return hold;
}

// Planning overlaps the step that runs.
void ReplicaSteps::plan_next(Count first, Count last) {
  const bool hold = holds_prompts(first, last);
  for (Count i = first; i < last; ++i) {
    ServingReplica& r = *replicas_[static_cast<std::size_t>(i)];
    if (!r.busy || !r.options.host.overlapped || r.planned) continue;
    r.scheduler->plan(r.next, hold);
    r.planned = !r.next.items.empty();
  }
}

std::pair<Count, Count> ReplicaSteps::in_step_with(const ServingReplica& r) const {
  const Count first = r.number < decoding_ ? 0 : decoding_;
  const Count group = (r.number - first) / r.options.in_step * r.options.in_step + first;
  return {group, std::min(group + r.options.in_step, first > 0 ? static_cast<Count>(replicas_.size()) : decoding_)};
}

void ReplicaSteps::run_step(ServingReplica& r, Seconds time) {
  begin(r, r.now, events_.now() + time, r.spent);
  r.busy = true;
  events_.at(events_.now() + time, EventKind::step_end, r.number);
}

// A pipeline takes a step as soon as its first stage is free; requests whose token is still on its way are not in it.
// vLLM holds as many batches at once as there are stages (vllm/v1/engine/core.py, step_with_batch_queue), and so do
// SGLang (managers/scheduler_pp_mixin.py, one running batch a stage) and TensorRT-LLM (py_executor.py,
// _executor_loop_pp, num_micro_batches = pp_size).
void ReplicaSteps::enter_pipeline(ServingReplica& r) {
  if (events_.now() < r.entry_free_at || static_cast<Count>(r.flight.size()) >= r.options.stages) return;
  StepPlan plan;
  r.scheduler->plan(plan);
  if (plan.items.empty()) return;
  r.adapters.note(plan);
  StepSpent spent = step_spent(plan.batch, r.options, r.flight.empty() && r.free_at < events_.now());
  wait_for_keys(spent, plan.moves, r.options);
  if (!std::exchange(r.warm, true)) spent.time += r.options.cold_start;
  const Seconds time = spent.time;
  const Seconds stage = time * r.options.stage_share;
  r.entry_free_at = events_.now() + stage;
  r.last_end = std::max(events_.now() + time, r.flight.empty() ? seconds(0) : r.last_end + stage);
  begin(r, plan, r.last_end, spent);
  r.flight.push_back(std::move(plan));
  events_.at(r.last_end, EventKind::step_end, r.number);
  events_.at(r.entry_free_at, EventKind::wake, r.number);
}

void ReplicaSteps::wait_for_keys(StepSpent& spent, const KvMoves& moves, const PoolOptions& pool) {
  if (!moves.any()) return;
  spent.time = std::max(spent.time, time_of(moves, pool.offload));
  for (std::size_t tier = 0; tier < moves.loaded.size(); ++tier) {
    out_.loaded[tier] += moves.loaded[tier] * pool.geometry.block_tokens;
    out_.stored[tier] += moves.stored[tier] * pool.geometry.block_tokens;
  }
}

void ReplicaSteps::begin(const ServingReplica& r, const StepPlan& plan, Seconds end, const StepSpent& spent) {
  for (const PlannedItem& item : plan.items) {
    Sequence& s = *item.sequence;
    if (!s.started) s.started = true, s.scheduled = events_.now();
  }
  StepRecord step;
  step.start = events_.now(), step.end = end;
  step.replica = r.number;
  step.prompt_tokens = static_cast<std::int32_t>(plan.batch.prefill_tokens());
  step.decodes = static_cast<std::int32_t>(plan.batch.decodes);
  step.running = static_cast<std::int32_t>(plan.items.size());
  step.waiting = static_cast<std::int32_t>(r.scheduler->waiting());
  step.cache = static_cast<float>(r.cache.utilisation());
  // Stages of a pipeline compute in turn, each GPU its part of the kernels.
  const Seconds each = spent.gpu * (static_cast<double>(r.options.abreast) / static_cast<double>(r.options.gpus));
  step.gpu = static_cast<float>(each.base());
  step.joules = static_cast<float>(spent.joules * static_cast<double>(r.options.abreast));
  log_.add_step(step);
  out_.busy += each;
  if (r.number < decoding_) out_.most_blocks = std::max(out_.most_blocks, r.cache.held());
}

}  // namespace tilecast
