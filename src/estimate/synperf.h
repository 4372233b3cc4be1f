// SynPerf's kernel model, as its paper and artifact define it: Zhang et al., SynPerf: A Hybrid Analytical-ML Framework
// for GPU Performance Prediction, arXiv 2601.14910 (2026).
//
//   t = theoretical cycles / (efficiency * clock),   efficiency = sigmoid(network(log1p(demands)))
//
// The demands are operations and cycles of the math pipes and bytes and cycles of the loads, of the whole GPU and of
// the busiest SM (Table IV). "Theoretical" is the tensor pipe's cycles for products and attention, the FMA and special
// pipes' together elsewhere; no maximum over pipes, so nothing bounds it.
//
// The block-scaled fp8 product of vLLM follows the artifact's formulas exactly. Everywhere else the demands are those
// of our own plans and schedule.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "estimate/mlp.h"
#include "gpu/gpu.h"
#include "kernel/kernel.h"

namespace tilecast {

// A GPU as SynPerf's hardware files describe it.
struct SynperfDevice {
  double sms = 0, megahertz = 0;
  double dram = 0, l2 = 0;  // GB/s
};
SynperfDevice synperf_device(const Gpu& gpu);

struct SynperfDemand {
  std::vector<float> features;  // Table IV in the artifact's order, log1p: 11 with one math pipe, 15 with two
  Seconds theoretical;
};
// Empty if the plan does no arithmetic that SynPerf counts and loads nothing.
std::optional<SynperfDemand> synperf_demand(const Kernel& kernel, const Plan& plan, const Gpu& gpu);

// The demands of one launch or kernel, before they become features.
struct SynperfPipe {
  double all_ops = 0, all_cycles = 0, busiest_ops = 0, busiest_cycles = 0;
};
struct SynperfLoads {
  double all_bytes = 0, busiest_bytes = 0;
};
std::vector<float> synperf_features(std::span<const SynperfPipe> pipes, const SynperfLoads& loads,
                                    const SynperfDevice& device);

struct SynperfWeights {
  TrainedMlps models;                    // by "family/format": one network per kernel category, for the efficiency
  std::map<std::string, Count> sources;  // source of rows -> how many
};

double synperf_efficiency(float output);
// Empty if the weights have no network for the kernel.
std::optional<Seconds> synperf_forecast(const SynperfWeights& weights, const Kernel& kernel, const Plan& plan,
                                        const Gpu& gpu);

std::string to_bytes(const SynperfWeights& weights);
Result<SynperfWeights> synperf_from_bytes(std::string_view bytes, const std::string& place);

}  // namespace tilecast
