#include "serve/plan_chance.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace tilecast {
namespace {

// Of the standard normal: four fifths lie between it and its negative.
constexpr double kNinetieth = 1.2815515655446004;

double normal_share(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

// Straight between the logarithms at the paces that were simulated, and on beyond them.
double figure_at(const std::vector<double>& paces, const std::vector<double>& at, double pace) {
  if (paces.size() < 2) return at.front();
  std::size_t right = 1;
  while (right + 1 < paces.size() && paces[right] < pace) ++right;
  const double low = at[right - 1], high = at[right];
  if (!(low > 0) || !(high > 0)) return std::max(low, high);
  const double share = (pace - paces[right - 1]) / (paces[right] - paces[right - 1]);
  return low * std::pow(high / low, share);
}

}  // namespace

double chance_below(double limit, double forecast, const BesidePace& beside) {
  if (!(forecast > 0)) return 1;
  const double distance = std::log(limit / forecast);
  const double width = distance >= 0 ? beside.up : beside.down;
  // Without a width the forecast itself decides.
  if (!(width > 0)) return distance >= 0 ? 1 : 0;
  return normal_share(distance / width * kNinetieth);
}

double chance_of(const PacedLoad& load) {
  constexpr int kCells = 1000;
  constexpr double kFarthest = 5;  // standard deviations
  double chance = 0;
  for (int i = 0; i < kCells; ++i) {
    const double from = kFarthest * (2.0 * i / kCells - 1), to = from + 2 * kFarthest / kCells;
    const double end = std::min(to, load.breaks * kNinetieth);
    if (end <= from) break;
    const double pace = (from + end) / 2 / kNinetieth;
    double met = normal_share(end) - normal_share(from);
    for (const PacedFigure& figure : load.figures) {
      assert(figure.at.size() == load.paces.size() && !figure.at.empty());
      met *= chance_below(figure.limit, figure_at(load.paces, figure.at, pace), figure.beside);
    }
    chance += met;
  }
  // The rest of the normal distribution, beyond the last cell, is shared out.
  return std::min(1.0, chance / (2 * normal_share(kFarthest) - 1));
}

double pace_that_saturates(double rate, double fast, double middle, double slow) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  if (!(middle > 0)) return -kInfinite;
  const double room = std::log(middle / rate);
  const double end = room >= 0 ? std::log(middle / slow) : std::log(fast / middle);
  return end > 0 ? room / end : room == 0 ? 0 : std::copysign(kInfinite, room);
}

}  // namespace tilecast
