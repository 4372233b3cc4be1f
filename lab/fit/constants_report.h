// What changes when the constants are refitted without a card: the page docs/accuracy/constants.md.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lab/fit/constants_fit.h"

namespace tilecast {

// Mean error of a family on each card left out, averaged over those cards.
struct LeftOutErrors {
  Count rows = 0;
  double shipped = 0, with = 0, without = 0;  // constants as shipped, refitted to all rows, refitted without the card
};
using FamilyErrors = std::map<std::string, LeftOutErrors>;
struct LeftOutFit {
  std::string left_out;  // "H100-SXM", "architecture:hopper"
  ConstantsFit without;
  FamilyErrors families;
  FamilyErrors learned;  // by family and format, of trainings without the card; empty: none were asked for
};

// Errors of the rows left out by any forecaster, under the three sets of constants; negative ones are skipped.
using ErrorsUnder = std::function<std::vector<double>(const TunedConstants&)>;
using Label = std::function<std::string(const Measurement&)>;
FamilyErrors left_out_errors(std::span<const Measurement* const> rows, const ConstantsFit& with,
                             const ConstantsFit& without, const ErrorsUnder& errors_under, const Label& label);

// A table for a terminal or a page: families, then their mean.
std::string left_out_table(const FamilyErrors& families, bool markdown);

struct ConstantsReport {
  Count sample = 0, rows = 0;  // rows per stratum, and in all
  Count learned_sample = 0;    // rows per stratum in trainings without a card; zero: no trainings
  int passes = 0;
  ConstantsFit with;  // fitted to all rows
  std::vector<LeftOutFit> fits;
  std::vector<std::string> of_families = {};  // the only families whose rows were used; empty: all
};
std::string constants_page(const ConstantsReport& report);
// The page's table of what is learned, averaged over the cards left out; empty: it has none.
std::string learned_means_of(std::string_view page);

}  // namespace tilecast
