// vLLM's --scheduling-policy priority (vllm/v1/core/sched/scheduler.py and request_queue.py, 0.14): who waits stands by
// priority, then by arrival; who has to go where blocks are lacking is the least urgent that runs, the latest of them.
#include <algorithm>

#include "serve/scheduler.h"

namespace tilecast {
namespace {

QueuePlace urgency_of(const Sequence& s) { return {s.request.priority, s.entered, s.id}; }

}  // namespace

void Scheduler::enqueue_by_priority(Sequence& s) { s.place = waiting_.insert(s, urgency_of(s)); }

// A request that was to run in this step and has to go after all: its books are as before.
Count Scheduler::take_back(StepPlan& plan, Sequence& s) {
  std::size_t chunk = 0;
  for (auto item = plan.items.begin(); item != plan.items.end(); ++item) {
    if (item->sequence != &s) {
      chunk += item->prompt;
      continue;
    }
    Count tokens = turn(), computed = item->emits;
    if (item->prompt) {
      const auto place = plan.batch.prefill.begin() + static_cast<std::ptrdiff_t>(chunk);
      tokens = computed = place->fresh;
      plan.batch.prefill.erase(place);
    }
    s.computed -= computed;
    s.generated -= item->emits;
    s.in_flight = false;
    --s.in_plans;
    if (!item->prompt) plan.batch.decodes -= 1, plan.batch.decode_context -= s.computed;
    plan.items.erase(item);
    return tokens;
  }
  return 0;
}

Count Scheduler::go_on_by_priority(StepPlan& plan, Count budget) {
  for (std::size_t i = 0; i < running_.size() && budget > 0; ++i) {
    Sequence& s = *running_[i];
    if (held(s)) continue;
    const Count tokens = std::min(s.decodes() ? turn() : s.pending(), budget);
    while (!cache_.grow(s.kv, s.computed + tokens)) {
      Sequence* victim = nullptr;
      for (Sequence* other : running_)
        if (!held(*other) && (!victim || urgency_of(*victim) < urgency_of(*other))) victim = other;
      if (!victim) return budget;
      const auto place = std::find(running_.begin(), running_.end(), victim);
      if (static_cast<std::size_t>(place - running_.begin()) < i) --i;
      running_.erase(place);
      budget += take_back(plan, *victim);
      preempt(*victim, true);
      if (victim == &s) return budget;
    }
    put(plan, s, tokens);
    budget -= tokens;
  }
  return budget;
}

}  // namespace tilecast
