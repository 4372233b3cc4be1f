// The largest work that still fits: a search over a run's batch and over its length.
#pragma once

#include <functional>

#include "engine/run.h"

namespace tilecast {

// Whole multiples only: a batch is shared out over data parallel ranks, a sequence over those that split it.
struct LargestUnits {
  Count batch = 1, length = 1;
};

// The most equal requests, or the longest context of each, for which `fits` says yes; what fits once has to fit when
// there is less of it.
Result<Largest> largest_where(const Run& run, const std::function<Result<bool>(const Run&)>& fits,
                              const LargestUnits& units = {});

}  // namespace tilecast
