#include "kernel/pipeline.h"

#include <algorithm>
#include <cmath>

namespace tilecast {
namespace {

constexpr double kReferenceClock = 1.9;  // GHz the constants are normalised to

// Fitted to bf16 GEMM of the cards with measured rows in a prototype (docs/method.md, forecast).
struct Generation {
  double step_clocks, task_clocks, wave_share, efficiency;
};
constexpr Generation generation_of(TensorGeneration generation) {
  switch (generation) {
    case TensorGeneration::wgmma: return {150, 1500, 0.55, 0.84};
    case TensorGeneration::tcgen05: return {133, 280, 0.77, 0.80};
    default: return {440, 1580, 3.4, 0.81};
  }
}
constexpr double kSplitClocks = 5000;
constexpr double kFeed = 143;
constexpr double kAmdFeed = 64;  // L1 of a compute unit, CDNA1 and 2
constexpr double kLatencyExponent = 0.43;
constexpr double kEfficiencyExponent = -0.35;

double relative_clock(const Gpu& gpu) { return in_gigahertz(gpu.clock.max) / kReferenceClock; }

}  // namespace

PipelineLatency pipeline_latency(const Gpu& gpu) {
  const Generation g = generation_of(gpu.tensor_generation());
  const double stretch = std::pow(relative_clock(gpu), kLatencyExponent);
  return {g.step_clocks * stretch, g.task_clocks * stretch, g.wave_share, kSplitClocks * stretch,
          gpu.vendor == Vendor::amd ? kAmdFeed : kFeed};
}

double product_efficiency(const Gpu& gpu) {
  const Generation g = generation_of(gpu.tensor_generation());
  return std::min(0.97, g.efficiency * std::pow(relative_clock(gpu), kEfficiencyExponent));
}

}  // namespace tilecast
