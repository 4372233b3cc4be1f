// The records of a run's steps and of the gaps between its tokens, in bounded memory.
//
// Steps are kept one by one up to a number; beyond it steps of one replica that follow each other are taken together, by
// twos, fours and so on, those with prompts and those without apart. Sums over a run stay what they are; gaps beyond
// their number are thinned evenly.
#pragma once

#include <algorithm>
#include <vector>

#include "tilecast/serving_metrics.h"

namespace tilecast {

inline constexpr std::size_t kMostStepRecords = std::size_t{1} << 22;
inline constexpr std::size_t kMostGaps = std::size_t{1} << 26;

class RunLog {
 public:
  explicit RunLog(ServingOutcome& out, std::size_t most_steps = kMostStepRecords, std::size_t most_gaps = kMostGaps)
      : out_(out), most_steps_(most_steps), most_gaps_(most_gaps) {}

  // Room for the gaps of so many tokens: a list that grows as it goes is copied over and over.
  void expect_gaps(Count gaps) { out_.gaps.reserve(std::min(static_cast<std::size_t>(gaps), most_gaps_)); }
  void add_step(const StepRecord& step) {
    if (step.cache > out_.cache_peak) out_.cache_peak = step.cache;
    if (together_ > 1) return add_together(step);
    out_.steps.push_back(step);
    if (out_.steps.size() >= most_steps_) halve();
  }
  void add_gap(Seconds gap) {
    if (out_.gap_count++ % keep_every_ != 0) return;
    out_.gaps.push_back(static_cast<float>(gap.base()));
    if (out_.gaps.size() >= most_gaps_) thin();
  }

 private:
  void add_together(const StepRecord& step);
  void join_or_push(std::vector<StepRecord>& steps, const StepRecord& step);
  void halve();
  void thin();

  ServingOutcome& out_;
  std::size_t most_steps_, most_gaps_;
  std::int32_t together_ = 1;             // steps of a record at most
  std::vector<std::ptrdiff_t> youngest_;  // record of each replica, without and with prompts; -1: none
  Count keep_every_ = 1;
};

}  // namespace tilecast
