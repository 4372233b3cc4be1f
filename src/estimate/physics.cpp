#include "estimate/physics.h"

#include <algorithm>
#include <cmath>

namespace tilecast {
namespace {

// Constants below, unless said otherwise: fitted to bf16 GEMM of six cards in a prototype (shared/method/physics.md,
// section 3), by the way the tensor pipe is fed.
struct Generation {
  double efficiency, step_clocks, task_clocks, wave_share, picojoules;
};
Generation generation_of(const Gpu& gpu) {
  switch (gpu.tensor_generation()) {
    case TensorGeneration::wgmma: return {0.84, 150, 1500, 0.55, 0.84};
    case TensorGeneration::tcgen05: return {0.80, 133, 280, 0.77, 0.71};
    case TensorGeneration::none:
    case TensorGeneration::mma:
    case TensorGeneration::mfma:
    case TensorGeneration::xmx: return {0.81, 440, 1580, 3.4, 1.2};
  }
  return {0.81, 440, 1580, 3.4, 1.2};
}

constexpr double kReferenceClock = 1.9;  // GHz: the clock the constants were normalised to

bool is_hbm(const Gpu& gpu) { return gpu.dram.type.starts_with("HBM"); }

// Power throttling sets in over about this much ideal time (physics.md 1.6: falls begin at 1 to 6 ms).
constexpr Seconds kThermalTime = milliseconds(1.1);

}  // namespace

Physics default_physics(const Gpu& gpu) {
  const Generation generation = generation_of(gpu);
  const double clock = in_gigahertz(gpu.clock.max) / kReferenceClock;
  Physics p;
  p.product_efficiency = std::min(0.97, generation.efficiency * std::pow(clock, -0.35));
  p.attention_efficiency = 0.85 * p.product_efficiency;
  // Latencies lie between cycles and nanoseconds: a faster clock shortens them by about half its ratio.
  const double stretch = std::pow(clock, 0.43);
  p.step_clocks = generation.step_clocks * stretch;
  p.task_clocks = generation.task_clocks * stretch;
  p.wave_share = generation.wave_share;
  p.graph_floor = microseconds(0.75 + 2.4 / in_gigahertz(gpu.clock.max));
  p.compute_power = gpu.power * (is_hbm(gpu) ? 0.80 : 0.68);
  p.joules_per_op = generation.picojoules * 1e-12;
  return p;
}

Seconds launch_floor(const Physics& physics, Runtime runtime) {
  return runtime == Runtime::graph ? physics.graph_floor : physics.eager_floor;
}

double power_share(const Physics& physics, const Launch& launch, OpsPerSecond rate, Seconds length) {
  if (launch.math.pipe != Pipe::tensor) return 1;
  // Narrower operands toggle fewer wires (physics.md: fp8 0.55 of bf16).
  const double width = bits_of(launch.math.input) >= 16 ? 1.0 : bits_of(launch.math.input) == 8 ? 0.55 : 0.3;
  const double wanted = rate.base() * physics.joules_per_op * width;
  const double share = std::min(1.0, in_watts(physics.compute_power) / wanted);
  const double heated = 1 / (1 + std::pow(length / kThermalTime, -1.5));
  return 1 - heated * (1 - share);
}

}  // namespace tilecast
