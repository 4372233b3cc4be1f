#include "serve/scheduler_sglang.h"

#include <algorithm>

#include "constants/serve.h"

namespace tilecast {

using namespace constants;

double SglangScheduler::room() const {
  auto tokens = static_cast<double>(cache_.available() * cache_.geometry().block_tokens);
  for (const Sequence* s : running_)
    tokens -= static_cast<double>(std::min<Count>(s->may_be_left(), kMostPromised)) * ratio_;
  return tokens;
}

// Requests whose keys came from another pool join the running ones without a step of their own
// (python/sglang/srt/disaggregation/decode.py, the prebuilt batch).
void SglangScheduler::join_received() {
  while (!waiting_.empty() && waiting_.front()->received > 0 &&
         static_cast<Count>(running_.size()) < limits_.max_sequences) {
    Sequence& s = *waiting_.front();
    const Count promised = std::min<Count>(s.may_be_left(), kMostPromised);
    const bool alone = running_.empty();
    if (static_cast<double>(s.received + promised) >= room() && !alone) return;
    if (!AdapterRoom(*this).fits(s) || !admission(s, s.received + turn()).fits) return;
    leave_queue(s);
    admit(s, s.received);
    running_.push_back(&s);
  }
}

bool SglangScheduler::looks() {
  if (++unlooked_ < limits_.receive_steps && !after_prompts_ && !running_.empty()) return false;
  unlooked_ = 0;
  return true;
}

void SglangScheduler::fill(StepPlan& plan) {
  join_received();
  const std::size_t before = running_.size();
  if (looks() || cut_) fill_prompts(plan);
  after_prompts_ = !plan.items.empty();
  if (plan.items.empty()) fill_decode(plan);
  else if (limits_.mixed_chunk) mix_running(plan, before);
  drop_ended();
}

// PrefillAdder: tokens of prompts in a step are limited by max_prefill_tokens (which one long prompt may pass) and by
// chunked_prefill_size, at which the last prompt is cut.
void SglangScheduler::fill_prompts(StepPlan& plan) {
  if (!cut_ && waiting_.empty()) return;
  double room_left = room();
  // Answers that run in the same step take a token each of what prompts may have.
  const Count mixed = limits_.mixed_chunk ? static_cast<Count>(running_.size()) * turn() : 0;
  Count input_left = limits_.max_tokens - mixed;
  const bool cuts = limits_.chunked_prefill && limits_.chunk > 0;
  Count chunk_left = cuts ? limits_.chunk - mixed : std::max(limits_.max_tokens, Count{1} << 40);
  if (chunk_left <= 0) return;
  const auto start = [&](Sequence& s, Count tokens) {
    room_left -= static_cast<double>(tokens);
    input_left -= tokens, chunk_left -= tokens;
    const bool whole = tokens == s.pending();
    put(plan, s, tokens);
    if (!whole) return;
    room_left -= static_cast<double>(std::min<Count>(s.may_be_left(), kMostPromised));
    running_.push_back(&s);
  };
  if (cut_) {
    Sequence& s = *cut_;
    const Count tokens = std::min(s.pending(), chunk_left);
    if (!cache_.grow(s.kv, s.computed + tokens)) return;  // answers must end first
    if (tokens == s.pending()) cut_ = nullptr;
    start(s, tokens);
  }
  AdapterRoom adapters(*this);
  while (!waiting_.empty() && !cut_ && input_left > 0 && chunk_left > 0 &&
         static_cast<Count>(running_.size()) < limits_.max_sequences) {
    Sequence& s = *waiting_.front();
    const Count known = s.request.input + s.generated;
    const Count there = s.received > 0 ? s.received : cache_.cached(s.key(), known);
    const Count fresh = known - there;
    const Count promised = std::min<Count>(s.may_be_left(), kMostPromised);
    // A request alone is always let in: nothing will end to make room for it.
    const bool alone = running_.empty() && plan.items.empty();
    if (!adapters.fits(s)) return;
    if (static_cast<double>(fresh + promised) >= room_left && !alone) return;
    if (fresh > input_left && !plan.items.empty()) return;
    const Count tokens = std::min(fresh, chunk_left);
    if (!admission(s, there + tokens).fits) return;
    leave_queue(s);
    adapters.join(s);
    admit(s, there + tokens);
    if (tokens < fresh) cut_ = &s;
    start(s, tokens);
  }
}

// ScheduleBatch.mix_with_running: those that ran before go on in the prompts' step. Where blocks are lacking for all of
// them, they wait for the step after it, which retracts.
void SglangScheduler::mix_running(StepPlan& plan, std::size_t before) {
  Count blocks = 0;
  for (std::size_t i = 0; i < before; ++i) blocks += cache_.lacking(running_[i]->kv, running_[i]->computed + turn());
  if (blocks > cache_.available()) return;
  for (std::size_t i = 0; i < before; ++i) {
    Sequence& s = *running_[i];
    if (!held(s) && cache_.grow(s.kv, s.computed + turn())) put(plan, s, turn());
  }
}

// ScheduleBatch.retract_decode: requests with the fewest answers so far go, until those that stay have room for some
// steps; the share of answers to expect is then what this batch needs.
void SglangScheduler::retract() {
  std::stable_sort(running_.begin(), running_.end(), [](const Sequence* a, const Sequence* b) {
    return a->generated != b->generated ? a->generated > b->generated : a->request.input < b->request.input;
  });
  const auto enough = [&] {
    Count blocks = 0;
    for (const Sequence* s : running_) blocks += cache_.lacking(s->kv, s->computed + kRetractSteps * turn());
    return blocks <= cache_.available();
  };
  do {
    Sequence* last = take_victim();
    if (!last) return;
    preempt(*last, false);
  } while (running_.size() > 1 && !enough());
  double decoded = 0, most = 1;
  for (const Sequence* s : running_) {
    decoded += static_cast<double>(s->generated + kRetractSteps);
    most += static_cast<double>(s->request.longest());
  }
  ratio_ = std::min(1.0, decoded / most);
}

void SglangScheduler::fill_decode(StepPlan& plan) {
  const auto lacking = [&] {
    Count blocks = 0;
    for (const Sequence* s : running_) blocks += cache_.lacking(s->kv, s->computed + turn());
    return blocks > cache_.available();
  };
  if (running_.size() > 1 && lacking()) retract();
  else ratio_ = std::max<double>(kLeastRatio, ratio_ - kDecay);
  if (cut_ && lacking()) {  // one answer against one prompt: the answer goes on
    preempt(*cut_, true);
    cut_ = nullptr;
  }
  for (Sequence* s : running_)
    if (!held(*s) && cache_.grow(s->kv, s->computed + turn())) put(plan, *s, turn());
}

}  // namespace tilecast
