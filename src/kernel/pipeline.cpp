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

// What a step loses besides its arithmetic takes clocks of its own, so a card whose tensor pipe is slower than those
// the constants were fitted on loses a smaller share: H20, a quarter of an H100's rate, reaches 0.96 of its peak in
// SynPerf's rows, and L20, half of an L40S's, 0.91: the share falls a little faster than the rate, as power falls with
// it.
double slower_pipe(const Gpu& gpu) {
  const double rate = gpu.tensor_rate(DType::fp16, DType::fp32);
  const TensorGeneration generation = gpu.tensor_generation();
  const double fitted = generation == TensorGeneration::wgmma     ? 4096
                        : generation == TensorGeneration::tcgen05 ? 8192
                                                                  : 1024;
  return rate > 0 ? std::pow(std::min(1.0, rate / fitted), 1.5) : 1;
}

double product_efficiency(const Gpu& gpu) {
  const Generation g = generation_of(gpu.tensor_generation());
  const double reached = std::min(0.97, g.efficiency * std::pow(relative_clock(gpu), kEfficiencyExponent));
  return 1 / (1 + (1 / reached - 1) * slower_pipe(gpu));
}

}  // namespace tilecast
