#include "estimate/physics.h"

#include "constants/estimate.h"
#include "kernel/pipeline.h"

namespace tilecast {

using namespace constants;

namespace {

// Ampere's graphics chips and all later ones issue integers on half of their fp32 lanes.
bool shares_lanes(const Gpu& gpu) {
  switch (gpu.architecture) {
    case Architecture::ampere: return !gpu.has_hbm();
    case Architecture::ada:
    case Architecture::hopper:
    case Architecture::blackwell:
    case Architecture::xe2: return true;
    default: return false;
  }
}

const Tunable& dram_efficiency_of(const Gpu& gpu) {
  if (gpu.has_hbm() && gpu.architecture == Architecture::pascal) return kPascalHbmEfficiency;
  return gpu.has_hbm() ? kHbmEfficiency : gpu.dram.ecc ? kGddrEccEfficiency : kGddrEfficiency;
}

}  // namespace

Overlap overlap_of(const Gpu& gpu) {
  return {gpu.tuned(gpu.cdna3_or_later() ? kMfmaOverlap : kProductOverlap),
          gpu.tuned(kOtherOverlap),
          gpu.tuned(kAttentionExpOverlap),
          gpu.tuned(kExpOverlap),
          gpu.tuned(kStreamOverlap),
          gpu.cdna3_or_later()};
}

Physics default_physics(const Gpu& gpu) {
  const PipelineLatency latency = pipeline_latency(gpu);
  Physics p;
  p.dram_efficiency = gpu.tuned(dram_efficiency_of(gpu));
  p.l2_efficiency = gpu.tuned(kL2Efficiency);
  p.vector_efficiency = gpu.tuned(kVectorEfficiency);
  p.product_efficiency = product_efficiency(gpu);
  p.simt_efficiency = gpu.tuned(shares_lanes(gpu) ? kSharedLanesSimtEfficiency : kSimtEfficiency);
  p.attention_efficiency = gpu.tuned(kAttentionShare) * p.product_efficiency;
  p.feed = bytes(latency.feed);
  p.product_feed = gpu.cdna3_or_later() ? bytes(gpu.tuned(kMfmaFeed)) : p.feed;
  p.step_clocks = latency.step_clocks;
  p.task_clocks = latency.task_clocks;
  p.wave_share = latency.wave_share;
  // Half of a launch is a fixed time and half runs at the SM clock: 0.95 us for the smallest kernels of a graph and 2.0
  // for the smallest products on an H200 (data/measurements/h200_sweep.csv.gz); clock law in docs/method.md.
  const double clock = in_gigahertz(gpu.clock.max);
  p.graph_floor = microseconds(gpu.tuned(kGraphFloor) + gpu.tuned(kFloorClocks) / clock);
  p.product_floor = microseconds(gpu.tuned(kProductFloor) + gpu.tuned(kFloorClocks) / clock);
  // Measured on the same card: LayerNorm of few long rows, warm and cold, per loop iteration.
  p.l2_latency = nanoseconds(gpu.tuned(kL2LatencyFixed) + gpu.tuned(kL2LatencyClocks) / clock);
  p.dram_latency = p.l2_latency + nanoseconds(gpu.tuned(kDramLatency));
  p.power = power_law(gpu);
  p.follower_floor = gpu.tuned(kFollowerFloor);
  p.overlap = overlap_of(gpu);
  return p;
}

Seconds launch_floor(const Physics& physics, const Launch& launch, Runtime runtime) {
  const Seconds empty = runtime == Runtime::graph ? physics.graph_floor : physics.eager_floor;
  const bool looped = launch.character == Character::product || launch.character == Character::attention;
  return looped ? empty + physics.product_floor : empty;
}

}  // namespace tilecast
