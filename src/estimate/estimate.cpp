#include "estimate/estimate.h"

#include <algorithm>

#include "estimate/bound.h"
#include "estimate/forecast.h"
#include "estimate/physics.h"
#include "estimate/residency.h"
#include "estimate/roofline.h"

namespace tilecast {
namespace {

// 80 % interval of the analytic forecast, as factors of it: the tenth and ninetieth percentiles of measured over
// forecast on the sampled rows of docs/accuracy.md, by the kind of main loop. Lopsided, because what the plan does not
// know (an engine's helper kernels, launch gaps) only ever adds time.
struct Factors {
  double low, high;
};
constexpr Factors interval_of(Character character) {
  switch (character) {
    case Character::product: return {0.85, 2.5};
    case Character::attention: return {0.9, 3.5};
    case Character::scan: return {0.95, 6.0};
    case Character::streaming:
    case Character::gather: return {0.85, 2.2};
  }
  return {0.85, 2.5};
}

// Kernels after the first in a graph start while the one before drains.
constexpr double kFollowerFloorShare = 0.4;

LaunchEstimate estimate_launch(const Plan& plan, std::size_t index, const Gpu& gpu, const Context& context,
                               const Physics& physics) {
  const Launch& launch = plan.launches[index];
  LaunchEstimate e;
  e.load = schedule(launch, gpu);
  e.least_traffic = least_traffic(launch, gpu, context);
  e.at_peak = peak_times(launch, e.load, e.least_traffic, gpu);
  e.bound = largest(e.at_peak);
  e.traffic = expected_traffic(launch, gpu, context, touched_elsewhere(plan, index));
  e.achieved = sustained_times(launch, e.load, e.traffic, gpu, physics);
  e.latency = std::max(join_times(e.achieved, launch), e.bound);
  return e;
}

}  // namespace

Result<Method> method_from(std::string_view name) {
  for (std::size_t i = 0; i < kMethodNames.size(); ++i)
    if (kMethodNames[i] == name) return static_cast<Method>(i);
  return Error{"--method", "", "unknown method '" + std::string(name) + "'",
               "one of roofline, tilecast, neusight, synperf"};
}

Estimate estimate(const Plan& plan, const Gpu& gpu, const Context& context, Method method) {
  const Physics physics = default_physics(gpu);
  Estimate total;
  total.method = method;
  Seconds longest;
  Character character = Character::streaming;  // of the longest launch
  for (std::size_t i = 0; i < plan.launches.size(); ++i) {
    LaunchEstimate e = estimate_launch(plan, i, gpu, context, physics);
    total.bound += e.bound;
    if (method == Method::roofline) {
      e.achieved = roofline_times(plan.launches[i], gpu);
      e.latency = largest(e.achieved);
      e.limited_by = largest_resource(e.achieved);
    } else {
      const Seconds floor =
          launch_floor(physics, plan.launches[i], context.runtime) * (i == 0 ? 1.0 : kFollowerFloorShare);
      const Resource busiest = largest_resource(e.achieved);
      e.limited_by = floor > e.latency ? Resource::launch : busiest;
      e.achieved[static_cast<std::size_t>(Resource::launch)] += floor;
      e.floor = floor;
      e.latency += floor;
    }
    total.latency += e.latency;
    if (e.latency > longest) {
      longest = e.latency;
      total.limited_by = e.limited_by;
      character = plan.launches[i].character;
    }
    total.launches.push_back(std::move(e));
  }
  total.ceiling = total.bound;
  total.efficiency = total.latency > seconds(0) ? total.bound / total.latency : 1;
  total.interval = method == Method::roofline
                       ? Interval{total.latency, total.latency}
                       : Interval{std::max(total.bound, total.latency * interval_of(character).low),
                                  total.latency * interval_of(character).high};
  return total;
}

}  // namespace tilecast
