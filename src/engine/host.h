// What an engine's host code and launches add to the kernels' time, by engine and era.
#pragma once

#include "constants/engine.h"
#include "engine/kinds.h"
#include "tilecast/units.h"

namespace tilecast {

// What the host does in a step. Launches run ahead of the GPU, so a step takes the longer of the two streams; what lies
// between steps (scheduling, sampling's result, Python) waits for the GPU.
struct HostCost {
  Seconds per_launch;    // of one kernel, from the operator's call to the next one's: the mean (engine/host_units.h)
  Seconds per_step;      // whatever is launched
  Seconds per_sequence;  // of every request in the batch, each step
  // On the GPU, from one kernel to a different one: its code, its parameters and its first CTAs have to be loaded.
  // Forecasts of kernels assume many identical ones in a row, for which they are already loaded.
  Seconds switching;
};

HostCost host_cost(EngineKind kind, EngineEra era = EngineEra::current);

}  // namespace tilecast
