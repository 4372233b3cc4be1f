// What to change where a training does not fit.
#pragma once

#include <optional>
#include <string>

#include "parallel/forecast.h"

namespace tilecast {

struct FittingChange {
  std::string what;  // "micro-batch 1", "recompute full", "tp 4 and dp 2"
  ParallelRun run;   // ... made
  Seconds step;
  Bytes memory;  // of the fullest rank
};

// Of the single changes that make a training fit on as many GPUs, the one whose step is shortest: smaller micro-batches,
// recomputation, more sharding, wider tensor or longer pipeline groups, an optimizer in the host's memory. None where
// none does.
std::optional<FittingChange> change_that_fits(const ParallelRun& run, const Cluster& cluster, const StepPricing& with);

}  // namespace tilecast
