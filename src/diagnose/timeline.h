// When the GPU worked and when it waited.
#pragma once

#include <vector>

#include "diagnose/recognise.h"
#include "tilecast/diagnose.h"

namespace tilecast {

// One a device, the busiest first; none where the recording has no times of day. `families` is that of each kind.
std::vector<DeviceTimeline> timelines(const Recording& recording, const std::vector<WorkFamily>& families);
// ... had its work been done at these times.
std::vector<DeviceTimeline> timelines(const Recording& recording, const std::vector<WorkEvent>& events,
                                      const std::vector<WorkFamily>& families);

}  // namespace tilecast
