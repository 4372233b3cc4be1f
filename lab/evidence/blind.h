// docs/accuracy/blind.md: the figures of a blind test as they were given, beside the same figures on public data, and
// what was changed because of them.
#pragma once

#include <string>
#include <vector>

#include "lab/evidence/visible.h"

namespace tilecast {

// A line of data/evidence/blind_test.csv.
struct BlindLine {
  std::string section;  // "Kernels on GPUs never seen"
  std::string what;     // was judged
  std::string rows;
  std::string given;    // the figures, as they were given
  std::string others;   // ... and those of other methods on the same rows
  std::string visible;  // questions for asked_figure, separated by spaces; empty: nothing visible is like it
  std::string like;     // what those are: "B200, GB200"
  std::string changed;  // because of the figures
};
Result<std::vector<BlindLine>> read_blind(const std::string& path);

std::string blind_report(const std::vector<BlindLine>& lines, const VisibleFigures& visible);

}  // namespace tilecast
