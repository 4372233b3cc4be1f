#include "estimate/host_timing.h"

#include <algorithm>
#include <cmath>

#include "constants/estimate.h"
#include "kernel/elementwise.h"
#include "support/arithmetic.h"

namespace tilecast {

using namespace constants;

HostTiming host_timing(double floor_us, Vendor vendor) {
  const double share = vendor == Vendor::amd ? kHostGapAmd : kHostGap;
  return {static_cast<float>(floor_us), static_cast<float>(share * floor_us)};
}

Seconds timed_by_host(const HostTiming& host, Seconds kernel) {
  return microseconds(p_norm(host.floor_us, host.gap_us + in_microseconds(kernel), kHostJoin));
}

std::optional<OwnTime> without_host(const HostTiming& host, Seconds measured) {
  const double us = in_microseconds(measured), floor = host.floor_us;
  if (us <= kHostTold * floor) return std::nullopt;
  const double behind = 1 - std::pow(floor / us, kHostJoin);  // share of the measured time's power that is no floor
  const double whole = us * std::pow(behind, 1 / kHostJoin);
  const double kernel = whole - host.gap_us;
  if (kernel <= 0) return std::nullopt;
  return OwnTime{microseconds(kernel), static_cast<float>(behind * kernel / whole)};
}

Seconds longest_untold(const HostTiming& host) {
  return microseconds(std::max(0.0, kHostTold * host.floor_us - host.gap_us));
}

std::string host_call(const Shape& shape) {
  const auto* pointwise = shape.get_if<Elementwise>();
  if (!pointwise) return {};
  const std::string_view op = enum_names(pointwise->op)[static_cast<std::size_t>(pointwise->op)];
  return std::string(op) + " " + std::to_string(pointwise->inputs);
}

const HostTiming* host_of(const HostTimings& hosts, const std::string& card, const std::string& vendor,
                          const std::string& call) {
  for (const std::string* whose : {&card, &vendor})
    for (const std::string& name : {*whose + "/" + call, *whose})
      if (const auto found = hosts.find(name); found != hosts.end()) return &found->second;
  return nullptr;
}

}  // namespace tilecast
