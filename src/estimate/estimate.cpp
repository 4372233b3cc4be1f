#include "estimate/estimate.h"

#include <algorithm>
#include <cmath>

#include "constants/estimate.h"
#include "estimate/bound.h"
#include "estimate/forecast.h"
#include "estimate/physics.h"
#include "estimate/residency.h"
#include "estimate/roofline.h"
#include "kernel/mla_sources.h"

namespace tilecast {

using namespace constants;

namespace {

// 80 % interval of the analytic forecast, as factors of it, by the kind of main loop. Lopsided, because what the plan
// does not know (an engine's helper kernels, launch gaps) only ever adds time.
constexpr const IntervalConstants& interval_of(Character character) {
  switch (character) {
    case Character::product: return kProductInterval;
    case Character::attention: return kAttentionInterval;
    case Character::scan: return kScanInterval;
    case Character::streaming:
    case Character::gather: return kStreamInterval;
  }
  return kProductInterval;
}

constexpr MainLoop loop_of(Character character) {
  switch (character) {
    case Character::product: return MainLoop::product;
    case Character::attention:
    case Character::scan: return MainLoop::attention;
    case Character::streaming:
    case Character::gather: return MainLoop::stream;
  }
  return MainLoop::stream;
}

// The load of an SM if all SMs had the same.
Load evened(Load load, const Launch& launch, const Gpu& gpu) {
  double steps = 0;
  for (const TaskGroup& group : launch.tasks) steps += group.steps * static_cast<double>(group.count);
  load.busiest = launch.total() * (1.0 / gpu.sms);
  load.steps_busiest = steps / gpu.sms;
  load.tasks_busiest = std::max<Count>(1, launch.task_count() / gpu.sms);
  load.balance = 1;
  return load;
}

Physics physics_of(const Gpu& gpu, const Simplified& simplified) {
  Physics physics = default_physics(gpu);
  if (simplified.peak_clocks) {
    physics.product_efficiency = physics.simt_efficiency = physics.attention_efficiency = physics.vector_efficiency = 1;
    physics.power.limit = physics.power.burst = watts(1e9);
    physics.power.tensor_clock = 1;
  }
  return physics;
}

// Whether the plan assumes more than its shape says.
bool assumes(const Launch& launch) {
  return std::any_of(launch.operands.begin(), launch.operands.end(),
                     [](const Operand& operand) { return operand.assumed.has_value(); });
}

// At a share of the highest clock: everything follows it except DRAM and a stream's round trips, which depend on wires.
ResourceTimes at_clock(ResourceTimes times, const Launch& launch, double clock) {
  for (std::size_t i = 0; i < times.size(); ++i) {
    const bool fixed = i == static_cast<std::size_t>(Resource::dram) ||
                       (i == static_cast<std::size_t>(Resource::latency) && !has_main_loop(launch));
    if (!fixed) times[i] = times[i] / clock;
  }
  return times;
}

// A main loop's time by clock. Everything but DRAM follows it, so the rest is joined once.
struct LoopTime {
  static constexpr bool kSmooth = true;
  double on_chip, dram, exponent;
  LoopTime(const LaunchParts& parts, double overlap) : on_chip(0), dram(parts.dram), exponent(overlap) {
    LaunchParts rest = parts;
    rest.dram = 0;
    on_chip = join_parts(rest, true, overlap);
  }
  ClockedTime operator()(double clock) const { return p_norm({on_chip / clock, 1}, {dram, 0}, exponent); }
  // Not above zero if DRAM alone takes as long.
  double clock_for(double time) const {
    if (!(time > dram)) return 0;
    const double part = dram > 0 ? plain_power(1 - plain_power(dram / time, exponent), -1 / exponent) : 1;
    return on_chip / time * part;
  }
  double clocked() const { return on_chip; }
};

// A stream's time by clock: its round trips do not follow the clock either, and whether L2 or DRAM takes longer may
// change with it.
struct StreamTime {
  static constexpr bool kSmooth = false;
  LaunchParts parts;
  double exponent, stream;
  ClockedTime operator()(double clock) const {
    return join_parts(at_clock(parts, false, clock), false, exponent, stream);
  }
  double clocked() const {
    LaunchParts rest = parts;
    rest.dram = rest.waiting = 0;
    return join_parts(rest, false, exponent, stream);
  }
};

// A launch at the clock that power allows.
struct Clocked {
  double clock = 1;
  Seconds at_highest;  // its time if nothing held it back
};

template <class TimeAt>
Clocked clocked(PowerWork& work, const TimeAt& time_at, const PowerLaw& law, RunLength run) {
  const ClockedTime at_highest = time_at(1.0);
  work.clocked = seconds(time_at.clocked());
  work.fixed = std::max(seconds(0), seconds(at_highest.time) - work.clocked);
  return {clock_of(law, work, run, time_at, at_highest), seconds(at_highest.time)};
}

// Splits the work's time by what follows the SMs' clock, and finds that clock.
Clocked clocked(PowerWork& work, const LaunchParts& parts, const Launch& launch, const Physics& physics,
                RunLength run) {
  const double exponent = overlap_exponent(launch, physics.overlap);
  Clocked found = has_main_loop(launch)
                      ? clocked(work, LoopTime(parts, exponent), physics.power, run)
                      : clocked(work, StreamTime{parts, exponent, physics.overlap.stream}, physics.power, run);
  // Products of fp64 do not fill the tensor pipes, and run at whatever clock power allows.
  const bool tensor = launch.math.pipe == Pipe::tensor && launch.math.input != DType::fp64;
  if (tensor && launch.total().tensor > ops(0)) found.clock = std::min(found.clock, physics.power.tensor_clock);
  return found;
}

void estimate_launch(LaunchEstimate& e, const Plan& plan, std::size_t index, const Gpu& gpu, const Context& context,
                     const Physics& physics, const Simplified& simplified) {
  const Launch& launch = plan.launches[index];
  e.load = schedule(launch, gpu);
  e.least_traffic = least_traffic(launch, gpu, context);
  e.at_peak = peak_times(launch, e.load, e.least_traffic, gpu);
  e.bound = largest(e.at_peak);
  e.assumed_least_traffic = e.least_traffic, e.assumed_bound = e.bound;
  if (assumes(launch)) {
    e.assumed_least_traffic = least_traffic(launch, gpu, context, Given::assumption);
    e.assumed_bound = largest(peak_times(launch, e.load, e.assumed_least_traffic, gpu, Given::assumption));
  }
  if (simplified.even_schedule) e.load = evened(e.load, launch, gpu);
  Context assumed = context;
  if (simplified.no_cache) assumed.warmth = Warmth::cold;
  e.traffic = expected_traffic(launch, gpu, assumed, touched_elsewhere(plan, index));
  e.achieved = sustained_times(launch, e.load, e.traffic, gpu, physics);
  e.work = energy_of(physics.power, launch, e.traffic.total(), energy_counted(context.data));
  const Clocked clock = clocked(e.work, parts_of(e.achieved, launch, physics.overlap), launch, physics, context.run);
  if (context.data != OperandData::normal) {  // a limit counts more than such data draw
    const PowerWork drawn = energy_of(physics.power, launch, e.traffic.total(), energy_drawn(context.data));
    e.work.core = drawn.core, e.work.memory = drawn.memory;
  }
  e.clock = clock.clock;
  e.achieved = at_clock(e.achieved, launch, e.clock);
  const Seconds joined = e.clock == 1 ? clock.at_highest : join_times(e.achieved, launch, physics.overlap);
  e.latency = std::max(joined, e.assumed_bound);
}

}  // namespace

Result<Method> method_from(std::string_view name) {
  for (std::size_t i = 0; i < kMethodNames.size(); ++i)
    if (kMethodNames[i] == name) return static_cast<Method>(i);
  return Error{"", "method", "unknown method '" + std::string(name) + "'",
               "one of tilecast, analytic, roofline, neusight, synperf"};
}

Estimate estimate(const Plan& plan, const Gpu& gpu, const Context& context, Method method,
                  const Simplified& simplified) {
  return estimate(plan, gpu, context, method, physics_of(gpu, simplified), simplified);
}

Estimate estimate(const Plan& plan, const Gpu& gpu, const Context& context, Method method, const Physics& physics,
                  const Simplified& simplified) {
  Estimate total;
  total.launches.reserve(plan.launches.size());
  total.method = method;
  Seconds longest;
  Character character = Character::streaming;  // of the longest launch
  for (std::size_t i = 0; i < plan.launches.size(); ++i) {
    LaunchEstimate& e = total.launches.emplace_back();
    estimate_launch(e, plan, i, gpu, context, physics, simplified);
    total.bound += e.bound;
    total.assumed_bound += e.assumed_bound;
    if (method == Method::roofline) {
      e.achieved = roofline_times(plan.launches[i], gpu);
      e.latency = largest(e.achieved);
      e.limited_by = largest_resource(e.achieved);
    } else {
      // A kernel waits until the one before it has drained, unless its constant says that some of that is hidden.
      const Seconds floor =
          launch_floor(physics, plan.launches[i], context.runtime) * (i == 0 ? 1.0 : physics.follower_floor);
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
  }
  if (const Seconds host = host_time(plan, context); method != Method::roofline && host > total.latency) {
    total.latency = host;
    total.limited_by = Resource::launch;
  }
  total.ceiling = total.bound;
  total.efficiency = total.latency > seconds(0) ? total.bound / total.latency : 1;
  total.interval = method == Method::roofline
                       ? Interval{total.latency, total.latency}
                       : Interval{std::max(total.assumed_bound, total.latency * interval_of(character).low),
                                  total.latency * interval_of(character).high};
  if (method != Method::roofline)
    total.shared =
        narrower(shared_width(loop_of(character), Doubt::architecture, false), width_of(total.interval, total.latency));
  return total;
}

}  // namespace tilecast
