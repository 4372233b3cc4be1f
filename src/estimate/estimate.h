// From a plan to a bounded, explained forecast.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "estimate/power.h"
#include "estimate/width.h"
#include "gpu/gpu.h"
#include "kernel/context.h"
#include "kernel/plan.h"
#include "schedule/schedule.h"
#include "tilecast/forecast.h"
#include "tilecast/result.h"

namespace tilecast {

// Whether a method needs weights made by `tilecast-lab train`, none of which ship.
constexpr bool needs_weights(Method m) { return m == Method::neusight || m == Method::synperf; }
Result<Method> method_from(std::string_view name);

// What a bound assumes: the shape alone, or also what the plan assumes where the shape does not say (that tokens choose
// experts evenly).
enum class Given : std::uint8_t { shape, assumption };

// Bytes a launch moves to and from DRAM.
struct Traffic {
  Bytes load, store;
  Bytes total() const { return load + store; }
};

struct LaunchEstimate {
  Load load;
  Traffic traffic;         // as forecast
  Traffic least_traffic;   // no execution can move less
  ResourceTimes at_peak;   // floor of each resource; the bound is the largest
  ResourceTimes achieved;  // as forecast, at sustained rates
  Seconds bound;
  Seconds assumed_bound;  // the bound if the plan's assumption holds, as the forecast assumes
  Traffic assumed_least_traffic;
  Seconds floor;    // launch floor; in `achieved` it is included with the prologue, under `launch`
  Seconds latency;  // forecast of this launch alone, its floor included
  Resource limited_by = Resource::dram;
  PowerWork work;    // its energy, and its time by how it follows the clock, without the floor
  double clock = 1;  // over the highest
};

struct Estimate {
  Method method = Method::analytic;
  Seconds latency;
  Interval interval;  // 80 %
  Width shared;       // the part of it that kernels of one family have in common on a card
  Seconds ceiling;    // what a well-tuned kernel reaches, if learned; otherwise the bound
  Seconds bound;
  Seconds assumed_bound;  // over all launches; the forecast is not below it
  double efficiency = 0;  // bound / latency, in (0, 1]
  Seen seen = Seen::no;
  Resource limited_by = Resource::dram;
  std::vector<LaunchEstimate> launches;  // one for each of the plan's
};

// Parts of the analytic forecast that can be switched off, to see what each is worth (docs/accuracy.md, ablation).
struct Simplified {
  bool even_schedule = false;  // every SM gets the same share of the work
  bool no_cache = false;       // all operands come from DRAM, whatever stays in L2
  bool peak_clocks = false;    // arithmetic at its peak rate: no power limit, no sustained share
};

// For `neusight` and `synperf` this gives only the frame (bound, launches); their time comes from their weights.
Estimate estimate(const Plan& plan, const Gpu& gpu, const Context& context, Method method,
                  const Simplified& simplified = {});
// The same for many kernels on one card, whose physics (estimate/physics.h, default_physics) are looked up once.
struct Physics;
Estimate estimate(const Plan& plan, const Gpu& gpu, const Context& context, Method method, const Physics& physics,
                  const Simplified& simplified = {});

}  // namespace tilecast
