// The question of anyone who buys hardware: how much faster is that GPU than this one, and which of them is faster at
// all?
//
// Rows of two GPUs are compared where the same party measured the same shape, format and engine in the same way. With
// several rows of a GPU there (kernel sources, repeats) the geometric mean stands for them, of the measured times and
// of the forecasts alike: nothing is picked. The speed-up from a to b is t_a / t_b, its error |predicted / measured -
// 1|.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lab/evaluate/evaluate.h"

namespace tilecast {

// One shape on two GPUs, `from` before `to` in the alphabet.
struct SpeedupPair {
  std::string_view from, to, family;
  double measured = 1, predicted = 1;  // t_from / t_to

  double error() const;
  // Whether the faster one is named; a measured tie has none and counts as neither right nor wrong.
  bool decided() const { return measured != 1; }
  bool named_right() const { return (measured > 1 && predicted > 1) || (measured < 1 && predicted < 1); }
  bool clear() const;  // measured times differ by more than kClear
};
// Same-shape scatter between sibling cards is 5 to 10 %: below that the faster one is mostly chance.
inline constexpr double kClear = 0.10;

// Failed rows are skipped. Ordered by GPUs and family.
std::vector<SpeedupPair> speedup_pairs(const std::vector<Measurement>& rows, const std::vector<Outcome>& outcomes);

struct SpeedupErrors {
  std::string from, to, family;                   // "all" where it goes over several
  Count pairs = 0, clear = 0;                     // shapes compared; those that differ clearly
  double mean = 0, median = 0;                    // error of the predicted speed-up
  double named_right = 0, clear_named_right = 0;  // shares of the decided and of the clear pairs
};

// By pair of GPUs and family, then families over all pairs, then everything. A line over several pairs of GPUs is the
// average of their figures, so that no pair dominates.
std::vector<SpeedupErrors> speedup_errors(const std::vector<SpeedupPair>& pairs);

}  // namespace tilecast
