// What a card sustains, as opposed to what its data sheet promises: the documented defaults of the forecast.
//
// Every default follows from the data sheet and the architecture, so unmeasured GPUs have them too; a calibration
// (measurements of the user's own card) may replace them one by one.
#pragma once

#include "constants/estimate.h"
#include "constants/product.h"
#include "estimate/power.h"
#include "gpu/gpu.h"
#include "kernel/context.h"
#include "kernel/plan.h"

namespace tilecast {

// p of the p-norms that join the parts of a kernel: 1 adds them, infinity takes the longest.
struct Overlap {
  double product = constants::kProductOverlap.value;  // a product's main loop and what comes from DRAM
  double other = constants::kOtherOverlap.value;      // the same for other main loops; streams and their waits
  double attention_exp = constants::kAttentionExpOverlap.value;  // attention's exponentials and its products
  double exp = constants::kExpOverlap.value;                     // special functions and arithmetic elsewhere
  double stream = constants::kStreamOverlap.value;               // a stream's arithmetic and its bytes
  bool pipes_in_turn =
      false;  // a product's waves alternate between reading shared memory and multiplying: those times add
};

struct Physics {
  double dram_efficiency = constants::kHbmEfficiency.value;  // share of peak DRAM bandwidth a long stream reaches
  double l2_efficiency = constants::kL2Efficiency.value;     // share of peak L2 bandwidth
  // Share of the tensor or FMA peak at the highest clock that a long product reaches.
  double product_efficiency = constants::kMmaPipeline.efficiency.value;
  double simt_efficiency = constants::kSimtEfficiency.value;  // the same for products on the vector pipe
  double attention_efficiency = constants::kAttentionShare.value * constants::kMmaPipeline.efficiency.value;
  double vector_efficiency = constants::kVectorEfficiency.value;
  Bytes feed = bytes(constants::kPipelineFeed.value);              // bytes per clock that reach one SM from L2
  Bytes product_feed = feed;                                       // the same in a product's main loop
  double step_clocks = constants::kMmaPipeline.step_clocks.value;  // latency of one dependent main-loop step
  double task_clocks = constants::kMmaPipeline.task_clocks.value;  // prologue and epilogue that nothing overlaps
  double wave_share = 1;  // share of `task_clocks` that every further task on an SM adds
  Seconds l2_latency;     // a dependent load served by L2, in a loop that uses what it loads
  Seconds dram_latency;   // the same from DRAM
  Seconds graph_floor;    // an empty kernel in a CUDA graph
  Seconds product_floor;  // what a product or attention kernel adds: descriptors, barriers, pipeline fill
  Seconds eager_floor = microseconds(constants::kEagerFloor);  // an empty kernel launched on its own
  double follower_floor =
      constants::kFollowerFloor.value;  // share of a floor paid by kernels after the first in a graph
  Overlap overlap;
  PowerLaw power;
};

Physics default_physics(const Gpu& gpu);
Overlap overlap_of(const Gpu& gpu);

Seconds launch_floor(const Physics& physics, const Launch& launch, Runtime runtime);

}  // namespace tilecast
