#include "estimate/estimate.h"

#include <algorithm>

#include "estimate/bound.h"
#include "estimate/forecast.h"
#include "estimate/physics.h"
#include "estimate/residency.h"
#include "estimate/roofline.h"

namespace tilecast {
namespace {

// 80 % interval of the analytic forecast around its value, as factors: from its errors on the measured rows
// (docs/accuracy.md). The learned method has intervals of its own.
constexpr double kIntervalLow = 0.7, kIntervalHigh = 1.45;

// Kernels after the first in a graph start while the one before drains.
constexpr double kFollowerFloorShare = 0.4;

LaunchEstimate estimate_launch(const Launch& launch, const Gpu& gpu, const Context& context, const Physics& physics) {
  LaunchEstimate e;
  e.load = schedule(launch, gpu);
  e.least_traffic = least_traffic(launch, gpu, context);
  e.at_peak = peak_times(launch, e.load, e.least_traffic, gpu);
  e.bound = largest(e.at_peak);
  e.traffic = expected_traffic(launch, gpu, context);
  e.achieved = sustained_times(launch, e.load, e.traffic, gpu, physics);
  e.latency = std::max(join_times(e.achieved, launch), e.bound);
  return e;
}

}  // namespace

Result<Method> method_from(std::string_view name) {
  for (const Method method : {Method::roofline, Method::tilecast})
    if (name_of(method) == name) return method;
  return Error{"--method", "", "unknown method '" + std::string(name) + "'", "one of roofline, tilecast"};
}

Estimate estimate(const Plan& plan, const Gpu& gpu, const Context& context, Method method) {
  const Physics physics = default_physics(gpu);
  Estimate total;
  total.method = method;
  Seconds longest;
  for (std::size_t i = 0; i < plan.launches.size(); ++i) {
    LaunchEstimate e = estimate_launch(plan.launches[i], gpu, context, physics);
    total.bound += e.bound;
    if (method == Method::roofline) {
      e.achieved = roofline_times(plan.launches[i], gpu);
      e.latency = largest(e.achieved);
      e.limited_by = largest_resource(e.achieved);
    } else {
      const Seconds floor = launch_floor(physics, plan.launches[i], context.runtime) * (i == 0 ? 1.0 : kFollowerFloorShare);
      const Resource busiest = largest_resource(e.achieved);
      e.limited_by = floor > e.latency ? Resource::launch : busiest;
      e.achieved[static_cast<std::size_t>(Resource::launch)] += floor;
      e.latency += floor;
    }
    total.latency += e.latency;
    if (e.latency > longest) {
      longest = e.latency;
      total.limited_by = e.limited_by;
    }
    total.launches.push_back(std::move(e));
  }
  total.efficiency = total.latency > seconds(0) ? total.bound / total.latency : 1;
  total.interval = method == Method::roofline
                       ? Interval{total.latency, total.latency}
                       : Interval{std::max(total.bound, total.latency * kIntervalLow), total.latency * kIntervalHigh};
  return total;
}

}  // namespace tilecast
