// From a plan to a bounded, explained forecast.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/gpu.h"
#include "kernel/context.h"
#include "kernel/plan.h"
#include "schedule/schedule.h"
#include "support/result.h"

namespace tilecast {

enum class Method : std::uint8_t {
  roofline,  // operations over peak rate or bytes over DRAM bandwidth, whichever is longer: the textbook
  analytic,  // plan, schedule, caches and sustained rates, never below the bound; nothing learned
  tilecast,  // the analytic forecast, corrected by what measurements taught (estimate/learned.h)
  neusight,  // tiles, waves and a learned utilisation (estimate/neusight.h)
  synperf,   // pipeline demands and a learned efficiency (estimate/synperf.h)
};
inline constexpr std::array<std::string_view, 5> kMethodNames = {"roofline", "analytic", "tilecast", "neusight",
                                                                 "synperf"};
constexpr std::string_view name_of(Method m) { return kMethodNames[static_cast<std::size_t>(m)]; }
// Whether a method forecasts with weights that `tilecast train` makes and nothing ships.
constexpr bool needs_weights(Method m) { return m == Method::neusight || m == Method::synperf; }
Result<Method> method_from(std::string_view name);

enum class Resource : std::uint8_t { tensor, vector, xu, shared, l2, dram, launch, latency };
inline constexpr int kResourceCount = 8;
inline constexpr std::array<std::string_view, kResourceCount> kResourceNames = {
    "tensor", "vector", "xu", "shared_memory", "l2", "dram", "launch", "latency"};
constexpr std::string_view name_of(Resource r) { return kResourceNames[static_cast<std::size_t>(r)]; }

// Bytes a launch moves to and from DRAM.
struct Traffic {
  Bytes load, store;
  Bytes total() const { return load + store; }
};

// Time each resource would need alone.
using ResourceTimes = std::array<Seconds, kResourceCount>;

struct LaunchEstimate {
  Load load;
  Traffic traffic;         // as forecast
  Traffic least_traffic;   // no execution can move less
  ResourceTimes at_peak;   // floor of each resource: what the bound is the largest of
  ResourceTimes achieved;  // as forecast, at sustained rates
  Seconds bound;
  Seconds floor;    // of being launched; in `achieved` it stands with the prologue, under `launch`
  Seconds latency;  // forecast of this launch alone, its floor included
  Resource limited_by = Resource::dram;
};

struct Interval {
  Seconds low, high;
};

// Whether the learned part was trained on this GPU's measurements of this family and format.
enum class Seen : std::uint8_t {
  no,
  sibling,
  yes,
  calibrated  // rows of this very card were fitted (gpu/calibration.h)
};
inline constexpr std::array<std::string_view, 4> kSeenNames = {"no", "sibling", "yes", "calibrated"};
constexpr std::string_view name_of(Seen s) { return kSeenNames[static_cast<std::size_t>(s)]; }

struct Estimate {
  Method method = Method::analytic;
  Seconds latency;
  Interval interval;  // 80 %
  Seconds ceiling;    // what a well-tuned kernel reaches, where learned; the bound elsewhere
  Seconds bound;
  double efficiency = 0;  // bound / latency, in (0, 1]
  Seen seen = Seen::no;
  Resource limited_by = Resource::dram;
  std::vector<LaunchEstimate> launches;  // one for each of the plan's
};

// Of `neusight` and `synperf` this is the frame only (bound, launches); their time comes from their weights.
// Parts of the analytic forecast that may be taken out, to see what each is worth (docs/accuracy.md, ablation).
struct Simplified {
  bool even_schedule = false;  // every SM gets the same share of the work
  bool no_cache = false;       // all operands come from DRAM, whatever stays in L2
  bool peak_clocks = false;    // arithmetic at its peak rate: no power limit, no sustained share
};

Estimate estimate(const Plan& plan, const Gpu& gpu, const Context& context, Method method,
                  const Simplified& simplified = {});

}  // namespace tilecast
