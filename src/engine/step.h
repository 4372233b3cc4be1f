// How long a program takes on a GPU: one step of a model.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "engine/engine.h"
#include "estimate/price.h"

namespace tilecast {

// One kernel call's share of a step.
struct CallForecast {
  Seconds each;  // one run of it
  Interval interval;
  Seconds ceiling;  // what a well-tuned kernel takes, on the same warm card
  Seconds bound;
  Resource limited_by = Resource::dram;
  Seen seen = Seen::no;
  Seconds unheated = {};  // one run of it on a card that other kernels of the step leave cool; `each` is of a warm one
  PowerWork work = {};    // of one run, its time at the highest clock
  double clock = 1;       // over the highest, on that cool card
  Bytes moved = {};       // to and from memory, of one run
  Width shared = {};      // of `interval` (estimate/width.h)
  std::string_view format = {};  // what it runs as (engine/path.h)
};

struct ProgramForecast {
  Seconds gpu;    // kernels back to back
  Seconds host;   // launches back to back
  Seconds total;  // the longer of the two, and what stands between steps
  Interval interval;
  Interval parts;                   // ... of what kernels and host leave open alone
  Seconds ceiling, bound;           // of the kernels: all well tuned; no run is faster
  double flops = 0;                 // model FLOPs of the step
  std::vector<CallForecast> calls;  // one for each of the program's
  bool host_bound() const { return host > gpu; }
};

// `sequences` is the number of requests in the batch, for the host's work on each. Errors name the call.
Result<ProgramForecast> forecast_step(const Program& program, const Gpu& gpu, Count sequences, Method method,
                                      const ModelSource* weights);

// What a call contributes to a step, independent of the rest: the fields of the same names in CallForecast.
struct CallCost {
  Seconds unheated;
  PowerWork work;
  double clock = 1;
};
// Costs by kernel, for calls on one GPU by one method: many steps, layouts and formats share most kernels.
using KnownCosts = std::unordered_map<std::string, CallCost>;
// One for each call of the program, without intervals and ceilings. Looked up in `known` first and added to it, if
// given.
Result<std::vector<CallCost>> call_costs(const Program& program, const Gpu& gpu, Method method,
                                         const ModelSource* weights, KnownCosts* known = nullptr);

// The interval of a sum whose parts err together: what kernels share through a card, a source and a protocol adds up;
// the rest is joined by its correlation within a family and between families (docs/method.md).
Interval interval_of_sum(const Program& program, const std::vector<CallForecast>& calls, Seconds sum);

// The step's intervals from its calls' (gpu, host and total are known); `between` lies between steps.
void add_interval(ProgramForecast& step, const Program& program, Seconds between);

}  // namespace tilecast
