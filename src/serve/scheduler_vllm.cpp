#include "serve/scheduler_vllm.h"

#include <algorithm>

namespace tilecast {

// Preempts from the end until `s` has blocks for `tokens` tokens; false where it had to go itself.
bool VllmScheduler::make_room(Sequence& s, Count tokens) {
  while (!cache_.grow(s.kv, tokens)) {
    Sequence* last = take_victim();
    if (!last) return false;
    preempt(*last, true);
    if (last == &s) return false;
  }
  return true;
}

void VllmScheduler::fill(StepPlan& plan) {
  Count budget = limits_.max_tokens;
  const std::size_t before = running_.size();
  for (std::size_t i = 0; i < running_.size() && budget > 0; ++i) {
    Sequence& s = *running_[i];
    if (held(s)) continue;
    const Count tokens = std::min(s.decodes() ? turn() : s.pending(), budget);
    if (!make_room(s, s.computed + tokens)) break;
    put(plan, s, tokens);
    budget -= tokens;
  }
  const bool preempted = running_.size() < before;
  if (!preempted) admit_waiting(plan, budget);
  drop_ended();
}

void VllmScheduler::admit_waiting(StepPlan& plan, Count budget) {
  while (!waiting_.empty() && budget > 0 && static_cast<Count>(running_.size()) < limits_.max_sequences) {
    Sequence& s = *waiting_.front();
    const Count known = s.request.input + s.generated;
    const Count there = s.received > 0 ? s.received : cache_.cached(s.key(), known);
    Count tokens = known - there;
    if (!limits_.chunked_prefill && s.preemptions == 0 && tokens > budget) return;
    tokens = std::min(tokens, budget);
    if (!admission(s, there + tokens).fits) return;
    waiting_.pop_front();
    admit(s, there + tokens);
    running_.push_back(&s);
    put(plan, s, tokens);
    budget -= tokens;
  }
}

}  // namespace tilecast
