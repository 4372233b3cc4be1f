// How long the stages of a main loop take when neither arithmetic nor bandwidth is the limit: latencies, by how the
// tensor pipe is fed. Used to choose tiles (a library weighs the same costs) and to forecast.
#pragma once

#include "gpu/gpu.h"

namespace tilecast {

struct PipelineLatency {
  double step_clocks;   // one dependent main-loop step: wait for a tile, multiply it
  double task_clocks;   // prologue and epilogue of a task that nothing overlaps
  double wave_share;    // share of task_clocks that every further task on the SM adds
  double split_clocks;  // joining split-K partial sums: semaphore or reduction kernel
  double feed;          // bytes per clock that tiles reach an SM from L2; above its port where clusters share loads
};

// Clocks at this GPU's highest clock. Latencies lie between cycles and nanoseconds: they grow with clock^0.43.
PipelineLatency pipeline_latency(const Gpu& gpu);

// Share of the peak at the highest clock that a long product sustains before the power limit.
double product_efficiency(const Gpu& gpu);

}  // namespace tilecast
