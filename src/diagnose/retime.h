// A recording of one card, re-timed for another: each piece of work takes its recorded time times the ratio of the two
// forecasts, so that what a kernel is above or below its forecast stays with it, and a card re-timed to itself is what
// was recorded.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/collective.h"
#include "diagnose/reschedule.h"
#include "diagnose/work_groups.h"
#include "tilecast/retime.h"
#include "tilecast/watch.h"

namespace tilecast {

struct RetimedGroup {
  RetimeBasis from = RetimeBasis::recorded;
  double ratio = 1;               // new over recorded
  double low = 1, high = 1;       // 80 %, of the same
  std::optional<Resource> limit;  // on the other card
  Seen seen = Seen::no;           // there
  std::string why;                // of what stays as it was, in words
};

struct RetimeSetting {
  const Gpu& from;
  const Gpu& to;
  const Cluster* from_cluster = nullptr;  // null: collectives stay as they were
  const Cluster* to_cluster = nullptr;
  const ModelSource* weights = nullptr;
};

// One of each group.
Result<std::vector<RetimedGroup>> retime_groups(const GroupedWork& work, const RetimeSetting& setting,
                                                const Watch& watch = {});

// The largest group of the recording's collectives, and the highest rank in them: GPUs that a cluster needs. 0: none.
int gpus_of_exchanges(const GroupedWork& work);

struct Retimed {
  Schedule schedule;                              // empty where the recording has no times of day
  std::vector<DeviceTimeline> recorded, retimed;  // one a device, in the order of the devices' numbers
};
Result<Retimed> retime(const Recording& recording, const GroupedWork& work, const std::vector<RetimedGroup>& groups);

// The file that `recording` was read from, a PyTorch profiler's, with the new times in it: work, what is marked on the
// GPU's lanes, and the host's events where they move. Everything else stays as it is.
Status write_retimed(const Recording& recording, const Schedule& schedule, const std::string& path,
                     const Watch& watch = {});

}  // namespace tilecast
