// A run whose clients wait for answers, again with its steps slower or faster, without simulating it anew.
//
// Where the next request is sent when one has ended, nothing but the steps sets the pace. If all replicas step
// together, the same requests share the same steps however long these take: time stretches step by step. Of several
// replicas, or pools, whose steps are all slower alike, the whole run is: it stretches by what their steps do on
// average. What front ends and links add stretches as well, which is what a simulation would tell otherwise.
#pragma once

#include <optional>

#include "serve/step_width.h"

namespace tilecast {

// Nothing where the run is of another kind, or where its steps hold what this does not know of.
std::optional<ServingOutcome> warped(const ServingOutcome& outcome, const SimulationOptions& simulation,
                                     const StepWidths& widths, bool slow);

}  // namespace tilecast
