// What an engine's host program, and how it launches, add to the kernels' time, by engine and era.
#pragma once

#include "constants/engine.h"
#include "engine/kinds.h"
#include "tilecast/units.h"

namespace tilecast {

// What the host does in a step. Launches run ahead of the GPU, so a step takes the longer of the two streams; what
// stands between steps (scheduling, sampling's result, Python) waits for the GPU.
struct HostCost {
  Seconds per_launch;    // of one kernel, from the operator's call to the next one's: the mean (engine/host_units.h)
  Seconds per_step;      // whatever is launched
  Seconds per_sequence;  // of every request in the batch, each step
  // On the GPU, from a kernel to the next, an unlike one: its code, its parameters and its first CTAs have to come.
  // Forecasts of kernels are of many alike in a row, where they are there already.
  Seconds switching;
};

HostCost host_cost(EngineKind kind, EngineEra era = EngineEra::current);

}  // namespace tilecast
