// Rows that a host launched and timed one by one, with the host taken off (estimate/host_timing.h).
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "measure/planned_rows.h"

namespace tilecast {

// Floors and gaps of the hosts of rows of one family: by card, and by vendor the middle of its cards'. A card has its own
// where it has rows whose kernels the physics says take next to nothing: those took the floor.
std::map<std::string, HostTiming, std::less<>> host_timings(std::span<const PlannedRow* const> rows);

// Rows as a graph would have run them: those that a host launched with the kernel's own time, weighed by what they tell
// of it, and without those that tell nothing. Others stay as they are.
class RowsWithoutHosts {
 public:
  explicit RowsWithoutHosts(std::span<const PlannedRow* const> rows);
  std::span<const PlannedRow* const> rows() const { return rows_; }
  const std::map<std::string, HostTiming, std::less<>>& hosts() const { return hosts_; }

 private:
  std::map<std::string, HostTiming, std::less<>> hosts_;
  std::vector<PlannedRow> changed_;
  std::vector<const PlannedRow*> rows_;
};

}  // namespace tilecast
