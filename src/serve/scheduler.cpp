#include "serve/scheduler.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "serve/scheduler_sglang.h"
#include "serve/scheduler_trtllm.h"
#include "serve/scheduler_vllm.h"

namespace tilecast {

Scheduler::Admission Scheduler::admission(const Sequence& s, Count upto) const {
  Admission a;
  if (s.received > 0) {
    a.there = s.received;
    a.fits = cache_.lacking({}, std::max(upto, s.received)) <= cache_.available();
    return a;
  }
  a.there = cache_.cached(s.key(), s.request.input + s.generated);
  const Count more = cache_.geometry().own_blocks_for(upto, a.there);
  a.fits = more + cache_.cached_idle_blocks(s.key(), s.request.input + s.generated) <= cache_.available();
  return a;
}

void Scheduler::admit(Sequence& s, Count upto) {
  s.computed = s.received > 0 ? s.received : cache_.take(s.kv, s.key(), s.request.input + s.generated);
  if (s.preemptions == 0) s.hits = s.received > 0 ? 0 : s.computed;
  s.received = 0;
  [[maybe_unused]] const bool grown = cache_.grow(s.kv, std::max(upto, s.computed));
  assert(grown);
}

bool Scheduler::put(StepPlan& plan, Sequence& s, Count tokens) {
  PlannedItem& item = plan.items.emplace_back(PlannedItem{&s});
  const bool decode = s.decodes();
  item.prompt = !decode;
  if (decode) {
    plan.batch.decodes += 1;
    plan.batch.decode_tokens = turn();
    plan.batch.decode_context += s.computed;
    item.emits = 1;
    const Speculation& speculation = limits_.speculation;
    while (item.emits < s.left() && item.emits <= speculation.draft &&
           random_.uniform() < speculation.acceptance_of(item.emits - 1))
      ++item.emits;
    s.computed += item.emits;
  } else {
    assert(tokens <= s.pending());
    if (s.request.media > 0 && !std::exchange(s.encoded, true)) plan.batch.encodes += s.to_encode();
    plan.batch.prefill.push_back({tokens, s.computed});
    item.emits = tokens == s.pending() ? 1 : 0;
    s.computed += tokens;
  }
  if (s.request.guided && item.emits > 0) ++plan.batch.guided;
  if (s.request.prefix >= 0 || !s.path.empty()) cache_.publish(s.kv, s.key(), s.computed);
  s.in_flight = item.emits > 0;
  s.generated += item.emits;
  item.ends = s.left() == 0;
  ++s.in_plans;
  return item.ends;
}

void Scheduler::preempt(Sequence& s, bool at_front) {
  cache_.release(s.kv, s.key(), s.computed);
  s.computed = 0;
  s.encoded = false;
  ++s.preemptions;
  now_waits(s, true);
  if (limits_.by_priority) enqueue_by_priority(s);
  else s.place = at_front ? waiting_.push_front(s) : waiting_.push_back(s);
}

void Scheduler::cancel(Sequence& s) {
  s.gone = true;
  if (s.waits) return leave_queue(s);
  std::erase(running_, &s);
  forget(s);
  if (s.in_plans == 0) finish(s);
}

Scheduler::AdapterRoom::AdapterRoom(const Scheduler& scheduler) : of_(scheduler) {
  if (of_.limits_.adapters == 0) return;
  for (const Sequence* s : of_.running_) join(*s);
}

void Scheduler::AdapterRoom::join(const Sequence& s) {
  const std::int32_t adapter = s.request.adapter;
  if (of_.limits_.adapters == 0 || adapter < 0) return;
  if (std::find(used_.begin(), used_.end(), adapter) == used_.end()) used_.push_back(adapter);
}

bool Scheduler::AdapterRoom::fits(const Sequence& s) const {
  const std::int32_t adapter = s.request.adapter;
  if (adapter < 0 || static_cast<Count>(used_.size()) < of_.limits_.adapters || of_.limits_.adapters == 0) return true;
  return std::find(used_.begin(), used_.end(), adapter) != used_.end();
}

bool Scheduler::AdapterRoom::somebody_may() const {
  if (of_.limits_.adapters == 0 || static_cast<Count>(used_.size()) < of_.limits_.adapters) return true;
  const auto waits = [&](std::int32_t adapter) {
    const auto found = of_.waiting_for_.find(adapter);
    return found != of_.waiting_for_.end() && found->second > 0;
  };
  return waits(-1) || std::any_of(used_.begin(), used_.end(), waits);
}

Sequence* Scheduler::take_victim() {
  for (std::size_t i = running_.size(); i-- > 0;) {
    Sequence* last = running_[i];
    if (held(*last)) continue;
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    return last;
  }
  return nullptr;
}

void Scheduler::drop_ended() {
  std::erase_if(running_, [](const Sequence* s) { return s->left() == 0; });
}

bool Scheduler::make_room(Sequence& s, Count tokens) {
  while (!cache_.grow(s.kv, tokens)) {
    Sequence* last = take_victim();
    if (!last) return false;
    preempt(*last, true);
    if (last == &s) return false;
  }
  return true;
}

Count Scheduler::go_on(StepPlan& plan, Count budget) {
  if (limits_.by_priority) return go_on_by_priority(plan, budget);
  for (std::size_t i = 0; i < running_.size() && budget > 0; ++i) {
    Sequence& s = *running_[i];
    if (held(s)) continue;
    const Count tokens = std::min(s.decodes() ? turn() : s.pending(), budget);
    if (!make_room(s, s.computed + tokens)) break;
    put(plan, s, tokens);
    budget -= tokens;
  }
  return budget;
}

std::unique_ptr<Scheduler> make_scheduler(const SchedulerLimits& limits, KvCache& cache) {
  switch (limits.policy) {
    case Policy::vllm: return std::make_unique<VllmScheduler>(limits, cache);
    case Policy::sglang: return std::make_unique<SglangScheduler>(limits, cache);
    case Policy::trtllm_no_evict:
    case Policy::trtllm_max_utilization: return std::make_unique<TrtllmScheduler>(limits, cache);
    case Policy::static_batch: return std::make_unique<StaticScheduler>(limits, cache);
  }
  return nullptr;
}

}  // namespace tilecast
