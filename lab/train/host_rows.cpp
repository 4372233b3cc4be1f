#include "lab/train/host_rows.h"

#include <algorithm>

#include "support/statistics.h"

namespace tilecast {
namespace {

// Kernels that take less than this share of what was measured stand on the floor; fewer such rows are no evidence.
constexpr double kNearlyNothing = 0.15;
constexpr std::size_t kLeastOnFloor = 5;
// Of those rows' times: the analytic forecast may take a long kernel for a short one, but nothing takes less than the
// floor. A quarter of such rows of batched products on MI100 and MI210 take twice the floor.
constexpr double kLowerPart = 0.05;
// Times the floor that a row must have taken to be learned from: calls of one family differ by what the host does for
// them (on P100 a GELU takes 30 us at least, a sum 43, a product with a number 52).
constexpr double kTold = 2;

std::string host_vendor(const PlannedRow& row) {
  const SourceNames names = source_names(row.measured->whole_context(), *row.gpu);
  return names.vendor;
}

double alone_us(const PlannedRow& row) { return tuned_time(row.input.in_graph->terms, Tuning{}, 1); }

}  // namespace

std::map<std::string, HostTiming, std::less<>> host_timings(std::span<const PlannedRow* const> rows) {
  std::map<std::string, std::vector<double>> on_floor;  // by card
  std::map<std::string, const PlannedRow*> cards;
  for (const PlannedRow* row : rows) {
    if (!row->input.in_graph) continue;
    const double us = in_microseconds(row->measured->latency);
    cards[row->gpu->name] = row;
    if (alone_us(*row) < kNearlyNothing * us) on_floor[row->gpu->name].push_back(us);
  }
  std::map<std::string, HostTiming, std::less<>> hosts;
  std::map<std::string, std::vector<double>> floors;  // by vendor
  for (auto& [card, times] : on_floor) {
    if (times.size() < kLeastOnFloor) continue;
    const double floor = quantile(times, kLowerPart);
    hosts[card] = host_timing(floor, cards[card]->gpu->vendor);
    floors[host_vendor(*cards[card])].push_back(floor);
  }
  for (auto& [vendor, all] : floors) {
    const auto of_vendor = [&](const auto& card) { return host_vendor(*card.second) == vendor; };
    const auto any = std::find_if(cards.begin(), cards.end(), of_vendor);
    hosts[vendor] = host_timing(upper_median(all), any->second->gpu->vendor);
  }
  return hosts;
}

RowsWithoutHosts::RowsWithoutHosts(std::span<const PlannedRow* const> rows) : hosts_(host_timings(rows)) {
  const auto launched = [](const PlannedRow* row) { return row->input.in_graph != nullptr; };
  changed_.reserve(static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), launched)));
  for (const PlannedRow* row : rows) {
    if (!launched(row)) {
      rows_.push_back(row);
      continue;
    }
    auto host = hosts_.find(row->gpu->name);
    if (host == hosts_.end()) host = hosts_.find(host_vendor(*row));
    const HostTiming timing = host == hosts_.end() ? HostTiming{} : host->second;
    const auto own = without_host(timing, row->measured->latency);
    if (!own || in_microseconds(row->measured->latency) < kTold * timing.floor_us) continue;
    PlannedRow changed = *row;
    changed.input = *row->input.in_graph;
    changed.own = own->kernel;
    changed.weight = own->told;
    changed_.push_back(std::move(changed));
    rows_.push_back(&changed_.back());
  }
}

}  // namespace tilecast
