#include "cli/views/roofline_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cli/terminal/units_text.h"
#include "support/scale.h"

namespace tilecast {
namespace {

constexpr int kWidth = 56, kHeight = 10;
constexpr LogScale kIntensity{0.0625, 16384};  // operations per byte
constexpr double kDecades = 4.5;               // of rate, below the roof

int column_of(double intensity) {
  return std::clamp(static_cast<int>(std::lround(kIntensity.at(intensity) * (kWidth - 1))), 0, kWidth - 1);
}
int row_of(double rate, double peak) {
  const double below = std::log10(peak / std::max(rate, peak * 1e-9));
  return std::clamp(static_cast<int>(std::lround(below / kDecades * (kHeight - 1))), 0, kHeight - 1);
}
double intensity_of(int column) { return kIntensity.value(column / static_cast<double>(kWidth - 1)); }

}  // namespace

std::string roofline_plot(const LaunchForecast::Roofline& r) {
  std::vector<std::string> canvas(kHeight, std::string(kWidth, ' '));
  for (int c = 0; c < kWidth; ++c) {
    const double roof = std::min(r.peak.base(), intensity_of(c) * r.feed.base());
    canvas[static_cast<std::size_t>(row_of(roof, r.peak.base()))][static_cast<std::size_t>(c)] =
        roof >= r.peak.base() ? '_' : '/';
  }
  canvas[static_cast<std::size_t>(row_of(r.reached.base(), r.peak.base()))]
        [static_cast<std::size_t>(column_of(r.intensity))] = 'o';

  std::string out;
  for (int row = 0; row < kHeight; ++row)
    out += fmt::format("  {:>9} |{}\n", row == 0 ? text_of(r.peak) : "", canvas[static_cast<std::size_t>(row)]);
  out += fmt::format("  {:>9} +{}\n", "", std::string(kWidth, '-'));
  out += fmt::format("  {:>9}  1/16{:>9}{:>19}{:>25}\n", "", "1", "64", "4096 op/B");
  out += fmt::format("  o  {} at {} op per {} byte; the roof there is {}\n", text_of(r.reached),
                     three_digits(r.intensity), r.from_dram ? "DRAM" : "L2",
                     text_of(ops_per_second(std::min(r.peak.base(), r.intensity * r.feed.base()))));
  return out;
}

}  // namespace tilecast
