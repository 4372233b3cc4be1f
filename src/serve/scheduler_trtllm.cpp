#include "serve/scheduler_trtllm.h"

#include <algorithm>
#include <optional>

namespace tilecast {

Count TrtllmScheduler::promised() const {
  Count blocks = 0;
  for (const Sequence* s : running_) blocks += cache_.lacking(s->kv, s->request.input + s->request.longest());
  return blocks;
}

void TrtllmScheduler::fill(StepPlan& plan) {
  const std::size_t before = running_.size();
  const Count budget = go_on(plan, limits_.max_tokens);
  if (running_.size() == before && !hold_) admit_waiting(plan, budget);
  drop_ended();
}

// tensorrt_llm/_torch/pyexecutor/py_executor.py, _waiting_requests.
bool TrtllmScheduler::keeps_waiting(Count budget) {
  if (limits_.wait_steps == 0 || waiting_.empty() || running_.empty()) return false;
  Count tokens = limits_.max_tokens - budget;
  for (const auto& [place, s] : waiting_) {
    tokens += s->request.input + s->generated;
    if (tokens >= limits_.max_tokens) break;
  }
  const bool few = static_cast<double>(tokens) < limits_.wait_share * static_cast<double>(limits_.max_tokens);
  if (few && waited_ < limits_.wait_steps) {
    ++waited_;
    return true;
  }
  waited_ = 0;
  return false;
}

void TrtllmScheduler::admit_waiting(StepPlan& plan, Count budget) {
  if (keeps_waiting(budget)) return;
  const bool no_evict = limits_.policy == Policy::trtllm_no_evict;
  std::optional<Count> reserved;  // once it matters
  while (!waiting_.empty() && budget > 0 && static_cast<Count>(running_.size()) < limits_.max_sequences) {
    Sequence& s = *waiting_.front();
    const Count known = s.request.input + s.generated;
    const Count there = s.received > 0 ? s.received : cache_.cached(s.key(), known);
    Count tokens = known - there;
    if (tokens > budget) {
      if (!limits_.chunked_prefill && s.preemptions == 0) return;
      // Chunks end at a block's edge (microBatchScheduler.cpp, the chunk unit is a block).
      const Count block = cache_.geometry().block_tokens;
      tokens = budget / block * block;
      if (tokens == 0) return;
    }
    if (!admission(s, there + tokens).fits) return;
    const Count whole = cache_.geometry().blocks_for(s.request.input + s.request.longest());
    if (no_evict && !reserved) reserved = promised();
    if (no_evict && whole + *reserved > cache_.available()) return;
    leave_queue(s);
    admit(s, there + tokens);
    if (no_evict) *reserved += cache_.lacking(s.kv, s.request.input + s.request.longest());
    running_.push_back(&s);
    put(plan, s, tokens);
    budget -= tokens;
  }
}

void StaticScheduler::fill(StepPlan& plan) {
  if (running_.empty()) {
    ended_ = ended_context_ = 0;
    Count promised = 0;
    while (!waiting_.empty() && static_cast<Count>(running_.size()) < limits_.max_sequences) {
      Sequence& s = *waiting_.front();
      const Count whole = cache_.geometry().blocks_for(s.request.input + s.request.longest());
      if (promised + whole > cache_.available()) break;
      promised += whole;
      leave_queue(s);
      running_.push_back(&s);
    }
    for (Sequence* s : running_) {
      admit(*s, s->request.input + s->request.output);
      put(plan, *s, s->pending());
    }
  } else {
    for (Sequence* s : running_) put(plan, *s, 1);
    plan.batch.decodes += ended_;
    ended_context_ += ended_;
    plan.batch.decode_context += ended_context_;
  }
  for (const Sequence* s : running_)
    if (s->left() == 0) ++ended_, ended_context_ += s->computed;
  drop_ended();
}

}  // namespace tilecast
