// How a run's tokens spread over its experts.
#pragma once

#include <string_view>
#include <vector>

#include "kernel/expert_distribution.h"
#include "tilecast/result.h"

namespace tilecast {

struct Moe;

struct Routing {
  ExpertDistribution kind = ExpertDistribution::balanced;
  double alpha = 1.2;
  std::vector<double> visits;  // measured ones of each expert of a layer, in any unit
};

// The default for inference: the same for a step, a served load and a plan.
Routing usual_routing();

// "uniform", "power:1.2", or "counts:FILE": visits of each expert, separated by commas or spaces.
Result<Routing> routing_from(std::string_view text);

// The kernel's shape under it. Measured visits are scaled to the step's tokens, none above all of them, and of ranks
// that share experts the busiest is taken; where a model has another number of experts, the field is named.
Result<Moe> routed(Moe shape, const Routing& routing);

}  // namespace tilecast
