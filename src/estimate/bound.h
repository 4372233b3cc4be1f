// The bound: no real execution of the launch can be faster.
#pragma once

#include "estimate/estimate.h"

namespace tilecast {

// Each resource's time for the unavoidable work, at the highest clock and peak bandwidths, without any launch floor. If
// the plan is known, its busiest SM counts too. The bound is the largest entry.
ResourceTimes peak_times(const Launch& launch, const Load& load, const Traffic& least, const Gpu& gpu,
                         Given given = Given::shape);

Seconds largest(const ResourceTimes& times);
Resource largest_resource(const ResourceTimes& times);

}  // namespace tilecast
