#include "estimate/physics.h"

#include <algorithm>
#include <cmath>

#include "constants/estimate.h"
#include "kernel/pipeline.h"

namespace tilecast {

using namespace constants;

namespace {

// Matrix cores from CDNA3 on (kernel/mfma_tiles.h).
bool in_turn(const Gpu& gpu) {
  return gpu.architecture == Architecture::cdna3 || gpu.architecture == Architecture::cdna4;
}

// Energy of a bf16 operation, by the way the tensor pipe is fed.
double picojoules_per_op(const Gpu& gpu) {
  switch (gpu.tensor_generation()) {
    case TensorGeneration::wgmma: return kWgmmaEnergy;
    case TensorGeneration::tcgen05: return kTcgenEnergy;
    default: return in_turn(gpu) ? kMfmaEnergy : kMmaEnergy;
  }
}

// The same of an fp32 operation on the FMA pipe. Two inference cards are held back by it: T4 sustains 3.3 of its 8.1
// TFLOP/s in NeuSight's training rows beyond 50 ms; P4 is quoted at 5.5 TFLOP/s, of the 7.8 its highest clock would
// give (its training rows reach 4.5). A100, V100 and P100 reach 0.85 to 0.92 of their peaks.
double picojoules_per_fma(const Gpu& gpu) {
  switch (gpu.architecture) {
    case Architecture::turing: return kTuringFma;
    case Architecture::pascal: return kPascalFma;
    default: return 0;
  }
}

bool is_hbm(const Gpu& gpu) { return gpu.dram.type.starts_with("HBM"); }

const Tunable& dram_efficiency_of(const Gpu& gpu) {
  return is_hbm(gpu) ? kHbmEfficiency : gpu.dram.ecc ? kGddrEccEfficiency : kGddrEfficiency;
}

}  // namespace

Overlap overlap_of(const Gpu& gpu) {
  return {gpu.tuned(in_turn(gpu) ? kMfmaOverlap : kProductOverlap),
          gpu.tuned(kOtherOverlap),
          gpu.tuned(kAttentionExpOverlap),
          gpu.tuned(kExpOverlap),
          gpu.tuned(kStreamOverlap),
          in_turn(gpu)};
}

Physics default_physics(const Gpu& gpu) {
  const PipelineLatency latency = pipeline_latency(gpu);
  Physics p;
  p.dram_efficiency = gpu.tuned(dram_efficiency_of(gpu));
  p.l2_efficiency = gpu.tuned(kL2Efficiency);
  p.vector_efficiency = gpu.tuned(kVectorEfficiency);
  p.product_efficiency = product_efficiency(gpu);
  p.attention_efficiency = gpu.tuned(kAttentionShare) * p.product_efficiency;
  p.feed = bytes(latency.feed);
  p.product_feed = in_turn(gpu) ? bytes(gpu.tuned(kMfmaFeed)) : p.feed;
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
  p.compute_power = gpu.power * (is_hbm(gpu) ? kHbmComputePower : kGddrComputePower);
  p.joules_per_op = picojoules_per_op(gpu) * 1e-12;
  p.joules_per_fma = picojoules_per_fma(gpu) * 1e-12;
  p.follower_floor = gpu.tuned(kFollowerFloor);
  p.overlap = overlap_of(gpu);
  return p;
}

Seconds launch_floor(const Physics& physics, const Launch& launch, Runtime runtime) {
  const Seconds empty = runtime == Runtime::graph ? physics.graph_floor : physics.eager_floor;
  const bool looped = launch.character == Character::product || launch.character == Character::attention;
  return looped ? empty + physics.product_floor : empty;
}

namespace {

// Narrower operands toggle fewer wires.
double toggling(DType input) {
  return bits_of(input) >= 16 ? 1.0 : bits_of(input) == 8 ? kByteWideToggling : kNarrowToggling;
}

// How far a kernel of this length heats the card up by itself.
double heated_by(Seconds length) { return 1 / (1 + std::pow(length / milliseconds(kThermalTime), -kThermalExponent)); }

}  // namespace

double power_share(const Physics& physics, const Launch& launch, OpsPerSecond rate, Seconds length) {
  const bool tensor = launch.math.pipe == Pipe::tensor;
  const double width = toggling(launch.math.input);
  const double wanted = rate.base() * (tensor ? physics.joules_per_op * width : physics.joules_per_fma);
  if (!(wanted > 0)) return 1;
  const double share = std::min(1.0, in_watts(physics.compute_power) / wanted);
  return 1 - heated_by(length) * (1 - share);
}

// Steady over burst time of the same products in aiconfigurator's power_gemm and gemm tables, by the power the tensor
// pipe wants as a share x of what is left for arithmetic: 1.01 at 0.58, 1.07 at 0.77, 1.14 at 0.96, 1.20 at 1.16 on an
// H200, B200 and GB200 within 0.03 of it; the fifth root of 1 + x^5 is 1.01, 1.05, 1.13, 1.25. Cards before Hopper are
// not in those tables; models run on A100, A40 and L20 show no such loss (docs/accuracy.md), so none is taken.
double steady_stretch(const Gpu& gpu, double wanted) {
  const TensorGeneration generation = gpu.tensor_generation();
  if (generation != TensorGeneration::wgmma && generation != TensorGeneration::tcgen05) return 1;
  return std::pow(1 + std::pow(wanted, double{kSteadyPower}), double{kSteadyRoot});
}

double steady_stretch_of(double stretch, Seconds alone) { return 1 + (stretch - 1) * (1 - heated_by(alone)); }

double tensor_joules(const Physics& physics, const Plan& plan) {
  double joules = 0;
  for (const Launch& launch : plan.launches)
    if (launch.math.pipe == Pipe::tensor)
      joules += in_ops(launch.total().tensor) * physics.joules_per_op * toggling(launch.math.input);
  return joules;
}

double joules_of(const Physics& physics, const Plan& plan, Bytes dram) {
  return tensor_joules(physics, plan) + in_bytes(dram) * kByteEnergy;
}

}  // namespace tilecast
