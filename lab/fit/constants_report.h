// What refitting the constants without a card changes: the page docs/accuracy/constants.md.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lab/fit/constants_fit.h"

namespace tilecast {

// Mean error of a family on the cards left out, in the mean over cards.
struct LeftOutErrors {
  Count rows = 0;
  double shipped = 0, with = 0, without = 0;  // constants as shipped, refitted to all rows, refitted without the card
};
struct LeftOutFit {
  std::string left_out;  // "H100-SXM", "architecture:hopper"
  ConstantsFit without;
  std::map<std::string, LeftOutErrors> families;
};

// Errors of the rows left out, under the three sets of constants.
std::map<std::string, LeftOutErrors> left_out_errors(std::span<const Measurement* const> rows, const ConstantsFit& with,
                                                     const ConstantsFit& without, int threads);

// A table for a terminal or a page: families, then their mean.
std::string left_out_table(const LeftOutFit& fit, bool markdown);

struct ConstantsReport {
  Count sample = 0, rows = 0;  // rows of a stratum, and in all
  int passes = 0;
  ConstantsFit with;  // fitted to all rows
  std::vector<LeftOutFit> fits;
};
std::string constants_page(const ConstantsReport& report);

}  // namespace tilecast
