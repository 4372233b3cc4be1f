// From what happened to what a client measures (tilecast/serving_metrics.h).
#pragma once

#include <vector>

#include "serve/simulator.h"
#include "tilecast/serving_metrics.h"

namespace tilecast {

// Percentiles interpolate between neighbours, as numpy's do; all zero of nothing.
Summary summary_of(std::vector<float> values);

bool meets(const RequestRecord& request, const Slo& slo);

// Tokens that admitted requests hold, at their most: each from when it is scheduled with its prompt, growing to its
// last token. A preempted request counts all the while, so that this can be more than the cache holds.
Count peak_tokens(const std::vector<RequestRecord>& requests);
// A part of a run: requests sent in it, steps begun in it.
struct CountedSpan {
  Seconds from, to;
  bool has(Seconds time) const { return time >= from && time < to; }
};

// Goodput is by the objectives of each request's class where there are classes, else by `slo`. `counted`: of that part
// alone, with throughputs of the answers that end in it; times between two tokens are still those of the whole run.
ServingMetrics metrics_of(const ServingOutcome& outcome, const Slo& slo = {},
                          const std::vector<RequestClass>& classes = {},
                          const std::optional<CountedSpan>& counted = {});
// The same, of an outcome whose gaps nobody needs any more: they are many.
ServingMetrics metrics_of(ServingOutcome&& outcome, const Slo& slo = {}, const std::vector<RequestClass>& classes = {},
                          const std::optional<CountedSpan>& counted = {});

// Of so many deployments alike, each under such a load.
ServingMetrics times(ServingMetrics metrics, Count deployments);

}  // namespace tilecast
