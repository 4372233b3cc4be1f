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
// Goodput is by the objectives of each request's class where there are classes, else by `slo`.
ServingMetrics metrics_of(const ServingOutcome& outcome, const Slo& slo = {},
                          const std::vector<RequestClass>& classes = {});
// The same, of an outcome whose gaps nobody needs any more: they are many.
ServingMetrics metrics_of(ServingOutcome&& outcome, const Slo& slo = {}, const std::vector<RequestClass>& classes = {});

}  // namespace tilecast
