#include "lab/train/host_rows.h"

#include <algorithm>

#include "support/statistics.h"

namespace tilecast {
namespace {

// A floor is read off the twentieth of a card's rows of a call with the shortest kernels, and at least this many.
constexpr std::size_t kShortestShare = 20, kFewest = 8;
// Beyond this share of what was measured, the shortest kernels are no evidence of a floor.
constexpr double kNearlyNothing = 0.3;
// No more than a few odd rows lie below this share of a floor.
constexpr double kFloorNoise = 0.7;
// Weight of a row on the floor: it says only that its kernel takes no longer.
constexpr float kOnFloorWeight = 0.2f;

std::string host_vendor(const PlannedRow& row) { return source_names(row.measured->whole_context(), *row.gpu).vendor; }

double alone_us(const PlannedRow& row) { return tuned_time(row.input.in_graph->terms, Tuning{}, 1); }
double timed_us(const PlannedRow& row) { return in_microseconds(row.measured->latency); }

// The median of what the first `count` rows took, if their kernels are next to nothing of it.
std::optional<double> floor_of_first(std::span<const PlannedRow* const> rows, std::size_t count) {
  if (rows.size() < count) return std::nullopt;
  std::vector<double> alone, timed;
  for (std::size_t i = 0; i < count; ++i) alone.push_back(alone_us(*rows[i])), timed.push_back(timed_us(*rows[i]));
  const double floor = upper_median(std::move(timed));
  if (upper_median(std::move(alone)) > kNearlyNothing * floor) return std::nullopt;
  return floor;
}

// Nothing takes less than a floor, but for noise. Where long kernels are the rule and the physics misjudges short ones
// (convolutions), those that it calls the shortest stand far above it: the fastest rows tell it then.
std::optional<double> floor_of(std::vector<const PlannedRow*> rows) {
  std::sort(rows.begin(), rows.end(), [](auto* a, auto* b) { return alone_us(*a) < alone_us(*b); });
  const auto floor = floor_of_first(rows, std::max(kFewest, rows.size() / kShortestShare));
  const auto faster = [&](const PlannedRow* row) { return timed_us(*row) < kFloorNoise * *floor; };
  if (floor && std::count_if(rows.begin(), rows.end(), faster) < static_cast<std::ptrdiff_t>(kFewest)) return floor;
  std::sort(rows.begin(), rows.end(), [](auto* a, auto* b) { return timed_us(*a) < timed_us(*b); });
  return floor_of_first(rows, kFewest);
}

// The row as a graph would have run it.
PlannedRow without_its_host(const PlannedRow& row, const HostTiming& host) {
  PlannedRow changed = row;
  changed.input = *row.input.in_graph;
  if (const auto own = without_host(host, row.measured->latency)) {
    changed.own = own->kernel, changed.weight = own->told;
  } else {
    changed.own = std::min(microseconds(alone_us(row)), longest_untold(host)), changed.weight = kOnFloorWeight;
  }
  return changed;
}

}  // namespace

HostTimings host_timings(std::span<const PlannedRow* const> rows) {
  std::map<std::string, std::vector<const PlannedRow*>> by_name;  // a card, and each of its calls
  for (const PlannedRow* row : rows) {
    if (!row->input.in_graph) continue;
    by_name[row->gpu->name].push_back(row);
    if (!row->input.call.empty()) by_name[row->gpu->name + "/" + row->input.call].push_back(row);
  }
  HostTimings hosts;
  std::map<std::string, std::vector<double>> floors;  // by vendor, and each call
  std::map<std::string, Vendor> vendors;
  for (const auto& [name, own] : by_name) {
    const auto floor = floor_of(own);
    if (!floor) continue;
    const PlannedRow& row = *own.front();
    hosts[name] = host_timing(*floor, row.gpu->vendor);
    const std::string shared = host_vendor(row) + name.substr(row.gpu->name.size());
    floors[shared].push_back(*floor);
    vendors[shared] = row.gpu->vendor;
  }
  for (auto& [name, all] : floors) hosts[name] = host_timing(upper_median(std::move(all)), vendors[name]);
  return hosts;
}

RowsWithoutHosts::RowsWithoutHosts(std::span<const PlannedRow* const> rows) : hosts_(host_timings(rows)) {
  const auto launched = [](const PlannedRow* row) { return row->input.in_graph != nullptr; };
  changed_.reserve(static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), launched)));
  for (const PlannedRow* row : rows) {
    if (launched(row)) {
      const HostTiming* host = host_of(hosts_, row->gpu->name, host_vendor(*row), row->input.call);
      changed_.push_back(without_its_host(*row, host ? *host : HostTiming{}));
      row = &changed_.back();
    }
    rows_.push_back(row);
  }
}

}  // namespace tilecast
