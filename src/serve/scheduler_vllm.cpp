#include "serve/scheduler_vllm.h"

#include <algorithm>

namespace tilecast {

void VllmScheduler::fill(StepPlan& plan) {
  const std::size_t before = running_.size();
  const Count budget = go_on(plan, limits_.max_tokens);
  if (running_.size() == before) admit_waiting(plan, budget);  // nobody was preempted
  drop_ended();
}

void VllmScheduler::admit_waiting(StepPlan& plan, Count budget) {
  AdapterRoom adapters(*this);
  auto next = waiting_.begin();
  while (next != waiting_.end() && adapters.somebody_may() && budget > 0 &&
         static_cast<Count>(running_.size()) < limits_.max_sequences) {
    Sequence& s = *(next++)->second;
    if (!adapters.fits(s)) continue;  // passed over until its adapter has room
    const Count known = s.request.input + s.generated;
    const Count there = s.received > 0 ? s.received : cache_.cached(s.key(), known);
    Count tokens = known - there;
    if (!limits_.chunked_prefill && s.preemptions == 0 && tokens > budget) return;
    tokens = std::min(tokens, budget);
    if (!admission(s, there + tokens).fits) return;
    leave_queue(s);
    adapters.join(s);
    admit(s, there + tokens);
    running_.push_back(&s);
    put(plan, s, tokens);
    budget -= tokens;
  }
}

}  // namespace tilecast
