// Requests of a plan that are more than lengths and a rate: recorded in a trace, or drawn with conversations, classes,
// adapters or images. A plan tries them at many rates: the same requests, sent faster or slower.
#pragma once

#include <vector>

#include "serve/simulator.h"
#include "serve/steady_state.h"
#include "serve/workload.h"

namespace tilecast {

struct PlanRequests {
  std::vector<Request> requests;  // as they come at `rate`; empty: a plan draws its own
  SharedPaths paths;
  double rate = 0;     // requests a second that follow no other: a conversation counts once
  SteadyLoad at_one;   // what a steady state needs to know of them, at a rate of one
  double each = 1;     // requests of a conversation, on average
  Seconds pauses;      // of people and tools in a conversation, on average
  Count left_out = 0;  // of those that were given
  bool drawn = false;  // they stand for a load that goes on, and not for themselves
  bool any() const { return !requests.empty(); }
};

// At most so many: the stretch in which they come fastest, conversations whole, from time zero on. Refuses requests
// that come all at once, which have no rate. `statistic`: of the rate over time that requests see, by which a steady
// state counts replicas; tokens count for it as found where any request before had them, as in a cache that loses none.
Result<PlanRequests> plan_requests(const std::vector<Request>& requests, SharedPaths paths, Count most,
                                   Statistic statistic);

// The same at another rate. Pauses of people and tools stay.
std::vector<Request> sent_at(const PlanRequests& recorded, double rate);

}  // namespace tilecast
