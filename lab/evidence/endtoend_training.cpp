// Tilecast as NeuSight's experiment trains it.
#include <fmt/format.h>

#include <algorithm>

#include "gpu/registry.h"
#include "kernel/elementwise.h"
#include "lab/evaluate/protocols.h"
#include "lab/evaluate/tilecast_method.h"
#include "lab/evidence/endtoend.h"
#include "lab/import/import.h"
#include "support/statistics.h"

namespace tilecast {

Result<Weights> train_for_neusight(const std::string& folder, Vendor vendor, int threads, const Progress& progress) {
  Names names;
  std::vector<Measurement> rows;
  for (const char* table : {"train", "test"}) {
    if (table == std::string_view("test") && vendor != Vendor::amd) continue;
    for (const std::string_view op : neusight_operators()) {
      const auto read = read_any(fmt::format("{}/neusight/kernels_{}/{}.csv.gz", folder, table, op), names,
                                 ReadOptions{}, [&](const Measurement& row) {
                                   if (built_in_gpu(row.gpu)->vendor == vendor) rows.push_back(row);
                                   return Status(Ok{});
                                 });
      if (!read) return read.error();
    }
  }
  if (rows.empty())
    return Error{folder, "", "holds no rows of these GPUs", "the kernel tables of their source belong there"};
  std::vector<std::size_t> all(rows.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  TrainOptions options;
  options.set_threads(threads);
  options.intervals = false;  // only errors are reported
  return train_tilecast_weights(rows, all, options, progress);
}

namespace {

// Latency of a pointwise kernel by its bytes.
struct Point {
  double bytes = 0, us = 0;
};

// Least squares of relative errors for us = gap + bytes / rate, over kernels of 3 to 40 times the floor: long enough to
// hide the host's call, short enough for the gap to show.
std::optional<EagerTiming> timing_from(const std::vector<Point>& points) {
  constexpr double kSmall = 2e5;  // bytes: below a microsecond on any of these cards
  std::vector<double> small;
  for (const Point& p : points)
    if (p.bytes < kSmall) small.push_back(p.us);
  if (small.empty()) return std::nullopt;
  const double floor = upper_median(small);
  double w0 = 0, w1 = 0, w2 = 0, y0 = 0, y1 = 0;  // weighted sums
  for (const Point& p : points) {
    if (p.us < 3 * floor || p.us > 40 * floor) continue;
    const double w = 1 / (p.us * p.us);
    w0 += w, w1 += w * p.bytes, w2 += w * p.bytes * p.bytes, y0 += w * p.us, y1 += w * p.bytes * p.us;
  }
  const double determinant = w0 * w2 - w1 * w1;
  if (!(determinant > 0)) return std::nullopt;
  const double gap = (y0 * w2 - y1 * w1) / determinant;
  return EagerTiming{microseconds(floor), microseconds(std::clamp(gap, 0.0, floor))};
}

}  // namespace

Result<std::map<std::string, EagerTiming>> eager_timings(const std::string& folder) {
  Names names;
  std::map<std::string, std::vector<Point>> points;
  for (const char* op : {"add", "mulu"}) {
    const auto read =
        read_any(fmt::format("{}/neusight/kernels_train/{}.csv.gz", folder, op), names, ReadOptions{},
                 [&](const Measurement& row) {
                   const auto& shape = row.kernel.shape.as<Elementwise>();
                   points[std::string(row.gpu)].push_back(
                       {4.0 * static_cast<double>((shape.inputs + 1) * shape.count()), in_microseconds(row.latency)});
                   return Status(Ok{});
                 });
    if (!read) return read.error();
  }
  std::map<std::string, EagerTiming> timings;
  for (const auto& [gpu, own] : points)
    if (const auto timing = timing_from(own)) timings.emplace(gpu, *timing);
  if (timings.empty())
    return Error{folder, "", "has no pointwise kernels to tell the eager floor by",
                 "the source's tables of elementwise kernels belong there"};
  return timings;
}

EagerTiming timing_of(const std::map<std::string, EagerTiming>& timings, const Gpu& gpu) {
  if (const auto own = timings.find(gpu.name); own != timings.end()) return own->second;
  std::vector<double> floors, gaps;
  for (const auto& [name, timing] : timings) {
    if (built_in_gpu(name)->architecture == gpu.architecture) return timing;
    floors.push_back(in_microseconds(timing.floor)), gaps.push_back(in_microseconds(timing.gap));
  }
  return {microseconds(upper_median(floors)), microseconds(upper_median(gaps))};
}

}  // namespace tilecast
