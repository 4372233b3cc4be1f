#include "serve/steady_state.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "serve/metrics.h"
#include "serve/random.h"

namespace tilecast {
namespace {

// A step takes some time, more for each token, and more for each cached one.
class LineCost final : public StepCost {
 public:
  LineCost(double step_ms, double token_us, double cached_ns) : step_(step_ms), token_(token_us), cached_(cached_ns) {}
  Seconds of(const StepBatch& b) const override {
    Count cached = b.decode_context;
    for (const PrefillChunk& c : b.prefill) cached += c.cached;
    return milliseconds(step_) + microseconds(token_) * static_cast<double>(b.tokens()) +
           nanoseconds(cached_) * static_cast<double>(cached);
  }

 private:
  double step_, token_, cached_;
};

SimulationOptions deployment_of(Policy policy, const StepCost& cost, Count blocks) {
  SimulationOptions o;
  o.pool.limits.policy = policy;
  o.pool.limits.max_sequences = 256;
  o.pool.limits.max_tokens = 4096;
  o.pool.limits.chunk = 2048;
  o.pool.cost = &cost;
  o.pool.geometry = {policy == Policy::sglang ? 1 : 16, {{100, 0}}, 0};
  o.pool.blocks = policy == Policy::sglang ? blocks * 16 : blocks;
  return o;
}
SteadyLoad load_of(double rate, Count input, Count output) {
  SteadyLoad load;
  load.rate = rate;
  load.input.mean = input, load.output.mean = output;
  return load;
}

ServingMetrics simulated(const SimulationOptions& o, const SteadyLoad& load, Count requests) {
  WorkloadOptions w;
  w.requests = requests, w.rate = load.rate, w.input = load.input, w.output = load.output, w.seed = 7;
  const auto run = simulate(*generate(w), o);
  return metrics_of(*run);
}

constexpr Policy kPolicies[] = {Policy::vllm, Policy::sglang, Policy::trtllm_no_evict};

TEST(ServeSteadyStateX, Explore) {
  Random random(3);
  for (int round = 0; round < 60; ++round) {
    const LineCost cost(2 + 10 * random.uniform(), 5 + 30 * random.uniform(), 20 * random.uniform());
    const Policy policy = kPolicies[round % 3];
    SimulationOptions o = deployment_of(policy, cost, 4000 + static_cast<Count>(random.below(20000)));
    o.pool.replicas = 1 + static_cast<Count>(random.below(4));
    o.pool.host.overlapped = round % 4 != 3;
    const Count input = 64 + static_cast<Count>(random.below(3000)), output = 2 + static_cast<Count>(random.below(400));
    // find the saturation rate by doubling and bisecting
    SteadyLoad load = load_of(0.01, input, output);
    double low = 0.01, high = 1e4;
    for (int i = 0; i < 40; ++i) {
      load.rate = std::sqrt(low * high);
      (steady_state(o, load).saturated() ? high : low) = load.rate;
    }
    for (const double share : {0.2, 0.5, 0.8, 0.9, 1.15}) {
      load.rate = low * share;
      const SteadyState s = steady_state(o, load);
      const ServingMetrics m = simulated(o, load, 4000);
      std::printf(
          "%-8s r%ld ov%d in %4ld out %3ld share %.2f rate %8.2f lim %-12s D %6.1f c %.2f ttft %8.2f / %8.2f = %.2f  "
          "tpot %7.2f / %7.2f = %.2f  p90 %.2f %.2f  thr %.2f\n",
          std::string(name_of(policy)).c_str(), o.pool.replicas, o.pool.host.overlapped, input, output, share,
          load.rate, std::string(name_of(s.limit)).c_str(), s.decoding, s.cache, s.ttft.base() * 1e3, m.ttft.mean * 1e3,
          s.ttft.base() / m.ttft.mean, s.tpot.base() * 1e3, m.tpot.mean * 1e3, s.tpot.base() / m.tpot.mean,
          s.ttft_at(Statistic::p90).base() / m.ttft.p90, s.tpot_at(Statistic::p90).base() / m.tpot.p90,
          m.request_throughput / load.rate);
    }
  }
}

}  // namespace
}  // namespace tilecast
