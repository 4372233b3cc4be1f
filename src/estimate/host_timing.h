// Kernels launched and timed one by one by a host.
//
// Two events around a call contain more than its kernel. Between the first event and the kernel's start the host
// prepares the call (the gap); after the launch it returns and records the second event, which a short kernel waits
// for. So nothing takes less than a floor, and above the floor the gap is added:
//
//   measured = |floor, gap + kernel|p      with a large p: the edge between the two is sharp
//
// Floor and gap belong to the host and its framework, whatever the card's clock. A graph pays neither.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "gpu/gpu.h"
#include "kernel/kernel.h"
#include "tilecast/units.h"

namespace tilecast {

struct HostTiming {
  float floor_us = 0, gap_us = 0;
};

// The gap of a host whose shortest calls take `floor_us`.
HostTiming host_timing(double floor_us, Vendor vendor);

// The time between two events around a call whose kernel takes this long.
Seconds timed_by_host(const HostTiming& host, Seconds kernel);

// What such a time says about its kernel.
struct OwnTime {
  Seconds kernel;
  float told = 1;  // relative change of the measured time over the kernel's: nearly nothing at the floor, 1 far above
};
// Empty: too near the floor to say anything.
std::optional<OwnTime> without_host(const HostTiming& host, Seconds measured);

// The longest kernel about which a measured time says nothing.
Seconds longest_untold(const HostTiming& host);

// What the host does before a launch differs between calls of one family: "add 2" is a sum of two tensors, "add 1" one
// of a tensor and a number. Empty: all calls are alike.
std::string host_call(const Shape& shape);

// Hosts by the card they drove, and the median by vendor; for one call under "T4/add 2", for all under "T4".
using HostTimings = std::map<std::string, HostTiming, std::less<>>;
// The card's own for this call, else for any call, else the vendor's; null: none.
const HostTiming* host_of(const HostTimings& hosts, const std::string& card, const std::string& vendor,
                          const std::string& call);

}  // namespace tilecast
