// What a card sustains, as opposed to what its data sheet promises: the documented defaults of the forecast.
//
// Every default follows from the data sheet and the architecture, so that a GPU nobody has measured has them too; a
// calibration (measurements of a card at hand) may replace them one by one.
#pragma once

#include "gpu/gpu.h"
#include "kernel/context.h"
#include "kernel/plan.h"

namespace tilecast {

struct Physics {
  double dram_efficiency = 0.88;    // share of peak DRAM bandwidth a long stream reaches
  double l2_efficiency = 0.67;      // share of peak L2 bandwidth
  double product_efficiency = 0.8;  // share of the tensor or FMA peak at the highest clock that a long product reaches
  double attention_efficiency = 0.7;
  double vector_efficiency = 0.7;
  Bytes feed = bytes(64);                   // bytes per clock that reach one SM from L2
  double step_clocks = 440;                 // latency of one dependent main-loop step
  double task_clocks = 1580;                // prologue and epilogue of a task that nothing overlaps
  double wave_share = 1;                    // share of `task_clocks` that every further task on an SM adds
  Seconds l2_latency = nanoseconds(270);    // a dependent load that L2 answers, in a loop that uses what it loads
  Seconds dram_latency = nanoseconds(620);  // the same from DRAM
  Seconds graph_floor = microseconds(1);    // a kernel in a CUDA graph, empty
  Seconds product_floor =
      microseconds(1);  // what a product or attention kernel adds: descriptors, barriers, pipeline fill
  Seconds eager_floor = microseconds(6);  // a kernel launched by itself, empty
  Watts compute_power;                    // power left for arithmetic
  double joules_per_op = 1e-12;           // energy of one tensor operation in bf16
  double joules_per_fma = 0;  // energy of one fp32 operation of a product on the vector pipe; zero: no limit
};

Physics default_physics(const Gpu& gpu);

Seconds launch_floor(const Physics& physics, const Launch& launch, Runtime runtime);

// Share of the highest clock that the power limit leaves a product of this rate, for kernels long enough to heat up.
double power_share(const Physics& physics, const Launch& launch, OpsPerSecond rate, Seconds length);

// Energy of a plan's tensor operations.
double tensor_joules(const Physics& physics, const Plan& plan);
// ... and of its bytes from DRAM: what the clock of a step follows.
double joules_of(const Physics& physics, const Plan& plan, Bytes dram);
// How much longer products take in a run that wants, on average, this share of the power left for arithmetic.
double steady_stretch(const Gpu& gpu, double wanted);
// The part of that which a kernel of this length has not already brought about by itself.
double steady_stretch_of(double stretch, Seconds alone);

}  // namespace tilecast
