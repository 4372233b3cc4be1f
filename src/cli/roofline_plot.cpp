#include "cli/roofline_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cli/units_text.h"
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

std::string roofline_plot(const Launch& launch, const LaunchEstimate& e, const Gpu& gpu) {
  const bool tensor = launch.math.pipe == Pipe::tensor && in_ops(launch.required.tensor) > 0;
  const Ops work = tensor ? launch.required.tensor : launch.required.vector;
  const OpsPerSecond peak = tensor ? ops(launch.math.ops_per_clock * gpu.sms) * gpu.clock.max
                                   : gpu.vector_peak(launch.vector_type, gpu.clock.max);
  // The level that feeds it: DRAM where bytes come from there, otherwise L2.
  const bool from_dram = e.traffic.total() > bytes(0) && e.achieved[static_cast<std::size_t>(Resource::dram)] >=
                                                             e.achieved[static_cast<std::size_t>(Resource::l2)];
  const Demand total = launch.total();
  const Bytes moved = from_dram ? e.traffic.total() : total.l2_load + total.l2_store;
  const BytesPerSecond feed = from_dram ? gpu.dram.bandwidth : gpu.l2_peak(gpu.clock.max);
  if (work <= ops(0) || moved <= bytes(0) || e.latency <= seconds(0) || peak.base() <= 0) return "";

  std::vector<std::string> canvas(kHeight, std::string(kWidth, ' '));
  for (int c = 0; c < kWidth; ++c) {
    const double roof = std::min(peak.base(), intensity_of(c) * feed.base());
    canvas[static_cast<std::size_t>(row_of(roof, peak.base()))][static_cast<std::size_t>(c)] =
        roof >= peak.base() ? '_' : '/';
  }
  const double intensity = in_ops(work) / in_bytes(moved);
  const OpsPerSecond reached = work / e.latency;
  canvas[static_cast<std::size_t>(row_of(reached.base(), peak.base()))]
        [static_cast<std::size_t>(column_of(intensity))] = 'o';

  std::string out;
  for (int r = 0; r < kHeight; ++r)
    out += fmt::format("  {:>9} |{}\n", r == 0 ? text_of(peak) : "", canvas[static_cast<std::size_t>(r)]);
  out += fmt::format("  {:>9} +{}\n", "", std::string(kWidth, '-'));
  out += fmt::format("  {:>9}  1/16{:>9}{:>19}{:>25}\n", "", "1", "64", "4096 op/B");
  out +=
      fmt::format("  o  {} at {} op per {} byte; the roof there is {}\n", text_of(reached), three_digits(intensity),
                  from_dram ? "DRAM" : "L2", text_of(ops_per_second(std::min(peak.base(), intensity * feed.base()))));
  return out;
}

}  // namespace tilecast
