#include "kernel/pipeline.h"

#include <algorithm>

#include "constants/product.h"
#include "support/arithmetic.h"

namespace tilecast {

using namespace constants;

namespace {

const PipelineConstants& pipeline_of(const Gpu& gpu) {
  switch (gpu.tensor_generation()) {
    case TensorGeneration::wgmma: return kWgmmaPipeline;
    case TensorGeneration::tcgen05: return kTcgenPipeline;
    case TensorGeneration::mfma: return gpu.cdna3_or_later() ? kMfmaPipeline : kCdnaPipeline;
    default: return kMmaPipeline;
  }
}

double relative_clock(const Gpu& gpu) { return in_gigahertz(gpu.clock.max) / kReferenceClock; }

}  // namespace

PipelineLatency pipeline_latency(const Gpu& gpu) {
  const PipelineConstants& p = pipeline_of(gpu);
  const Tunable& split = gpu.cdna3_or_later() ? kMfmaSplitClocks : kSplitClocks;
  const double stretch = plain_power(relative_clock(gpu), gpu.tuned(kLatencyExponent));
  return {gpu.tuned(p.step_clocks) * stretch, gpu.tuned(p.task_clocks) * stretch, gpu.tuned(p.wave_share),
          gpu.tuned(split) * stretch, gpu.vendor == Vendor::amd ? kAmdFeed : gpu.tuned(kPipelineFeed)};
}

// The overhead of a step takes a fixed number of clocks, so a card whose tensor pipe is slower than those the constants
// were fitted on loses a smaller share: H20, a quarter of an H100's rate, reaches 0.96 of its peak in SynPerf's rows,
// and L20, half of an L40S's, 0.91: the share falls a little faster than the rate, as power falls with it.
double slower_pipe(const Gpu& gpu) {
  const double rate = gpu.tensor_rate(DType::fp16, DType::fp32);
  const double fitted_rate = pipeline_of(gpu).rate;
  return rate > 0 && rate < fitted_rate ? power(rate / fitted_rate, gpu.tuned(kSlowPipeExponent)) : 1;
}

double product_efficiency(const Gpu& gpu) {
  const double at_reference = gpu.tuned(pipeline_of(gpu).efficiency);
  const double reached =
      std::min<double>(kMostEfficiency, at_reference * power(relative_clock(gpu), gpu.tuned(kEfficiencyExponent)));
  return 1 / (1 + (1 / reached - 1) * slower_pipe(gpu));
}

}  // namespace tilecast
