// Logarithmic axes: where a value lies between two ends.
#pragma once

#include <cmath>
#include <vector>

namespace tilecast {

struct LogScale {
  double low, high;  // above zero

  // 0 at `low`, 1 at `high`; not clamped.
  double at(double value) const { return std::log(value / low) / std::log(high / low); }
  double value(double at) const { return low * std::pow(high / low, at); }
  // Powers of ten on the scale, ends included.
  std::vector<double> decades() const {
    std::vector<double> ticks;
    // A little slack, so that an end that is a power of ten up to rounding counts.
    for (int e = static_cast<int>(std::ceil(std::log10(low) - 1e-9)); e <= std::log10(high) + 1e-9; ++e)
      ticks.push_back(std::pow(10.0, e));
    return ticks;
  }
};

}  // namespace tilecast
