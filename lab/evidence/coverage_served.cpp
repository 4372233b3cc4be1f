// How wide the steps of served loads are, apart from what else served loads are off by.
#include <algorithm>
#include <cmath>
#include <map>

#include "constants/intervals.h"
#include "lab/evidence/coverage.h"

namespace tilecast {
namespace {

// 0 to 1.
constexpr int kScalesTried = 21;
constexpr double kScaleStep = 0.05;

// Of an interval of this share: its width, and what lies beyond it weighed as dearly as its share makes it (Gneiting
// and Raftery, Strictly proper scoring rules, 2007, section 6.2).
double interval_score(const CoverageRow& row, const Width& width) {
  const double beyond = std::max({0.0, row.error - width.up, -row.error - width.down});
  return width.down + width.up + 2 / (1 - kIntervalShare) * beyond;
}

// The mean score of a kind's rows, each judged by a width fitted to others; what is left out together weighs as one.
double score_of(const CoverageRows& rows) {
  const Width noise{constants::kNoiseWidth, constants::kNoiseWidth};
  const FoldOf fold_of = fold_for(rows);
  std::map<std::string, CoverageRows> folds;
  for (const CoverageRow& row : rows) folds[fold_of ? fold_of(row) : ""].push_back(row);
  double sum = 0, weights = 0;
  for (const auto& [fold, judged] : folds) {
    CoverageRows others;
    for (const CoverageRow& row : rows)
      if (fold_of && fold_of(row) != fold) others.push_back(row);
    const Width width = fit_width(others.empty() ? judged : others);
    double score = 0;
    for (const CoverageRow& row : judged) score += interval_score(row, wider(joined(row.parts, width), noise));
    const auto count = static_cast<double>(judged.size());
    const double weight = std::min(1.0, count / kFewRows);
    sum += weight * score / count, weights += weight;
  }
  return sum / weights;
}

}  // namespace

Width fit_served_scale(const CoverageRows& rows) {
  std::map<std::string, CoverageRows> kinds;
  for (const CoverageRow& row : rows)
    if (row.served() && !row.kind.empty()) kinds[row.kind].push_back(row);
  double best = 1, least = 0;
  for (int i = 0; i < kScalesTried; ++i) {
    const double scale = i * kScaleStep;
    double sum = 0;
    for (const auto& [kind, own] : kinds) {
      CoverageRows scaled = own;
      for (CoverageRow& row : scaled) row.parts = {row.parts.down * scale, row.parts.up * scale};
      sum += std::log(score_of(scaled));  // kinds with narrow intervals count as much as those with wide ones
    }
    if (i == 0 || sum < least) least = sum, best = scale;
  }
  return {best, best};
}

}  // namespace tilecast
