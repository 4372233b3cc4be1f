// Rows that a host launched and timed one by one, with the host taken off (estimate/host_timing.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "measure/planned_rows.h"

namespace tilecast {

// Floors and gaps of the hosts of rows of one family. A card's is read off its rows of a call that the physics says
// have the shortest kernels, where those take next to nothing; a card without such rows has none.
HostTimings host_timings(std::span<const PlannedRow* const> rows);

// Rows as a graph would have run them: those that a host launched with the kernel's own time, weighed by what they tell
// of it. Those that stand on the floor tell that their kernels take no longer than it leaves: they keep the physics'
// time where that agrees. Left out, they would leave of kernels thought to be short only those that were not.
class RowsWithoutHosts {
 public:
  explicit RowsWithoutHosts(std::span<const PlannedRow* const> rows);
  std::span<const PlannedRow* const> rows() const { return rows_; }
  const HostTimings& hosts() const { return hosts_; }

 private:
  HostTimings hosts_;
  std::vector<PlannedRow> changed_;
  std::vector<const PlannedRow*> rows_;
};

}  // namespace tilecast
