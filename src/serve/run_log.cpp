#include "serve/run_log.h"

#include <algorithm>

namespace tilecast {
namespace {

// Both as one record.
void join_records(StepRecord& a, const StepRecord& b) {
  const auto ran_a = static_cast<double>(a.ran_for()), ran_b = static_cast<double>(b.ran_for());
  const double ran = ran_a + ran_b;
  if (ran > 0)
    a.cache = static_cast<float>((static_cast<double>(a.cache) * ran_a + static_cast<double>(b.cache) * ran_b) / ran);
  a.ran = static_cast<float>(ran);
  a.start = std::min(a.start, b.start), a.end = std::max(a.end, b.end);
  a.steps += b.steps;
  a.prompt_tokens += b.prompt_tokens, a.decodes += b.decodes, a.running += b.running, a.waiting += b.waiting;
  a.gpu += b.gpu, a.joules += b.joules;
}

}  // namespace

void RunLog::join_or_push(std::vector<StepRecord>& steps, const StepRecord& step) {
  const auto slot = static_cast<std::size_t>(2 * step.replica + (step.prompt_tokens > 0 ? 1 : 0));
  if (slot >= youngest_.size()) youngest_.resize(slot + 1, -1);
  std::ptrdiff_t& last = youngest_[slot];
  if (last >= 0 && steps[static_cast<std::size_t>(last)].steps + step.steps <= together_) {
    join_records(steps[static_cast<std::size_t>(last)], step);
    return;
  }
  last = static_cast<std::ptrdiff_t>(steps.size());
  steps.push_back(step);
}

void RunLog::add_together(const StepRecord& step) {
  join_or_push(out_.steps, step);
  if (out_.steps.size() >= most_steps_) halve();
}

void RunLog::halve() {
  // Where every replica has but one record of a kind there is nothing to take together.
  constexpr std::int32_t kMostTogether = 1 << 16;
  if (together_ >= kMostTogether) {
    most_steps_ *= 2;
    return;
  }
  together_ *= 2;
  youngest_.assign(youngest_.size(), -1);
  std::vector<StepRecord> fewer;
  fewer.reserve(most_steps_);
  for (const StepRecord& step : out_.steps) join_or_push(fewer, step);
  out_.steps = std::move(fewer);
}

void RunLog::thin() {
  const std::size_t half = out_.gaps.size() / 2;
  for (std::size_t i = 0; i < half; ++i) out_.gaps[i] = out_.gaps[2 * i];
  out_.gaps.resize(half);
  keep_every_ *= 2;
}

}  // namespace tilecast
