#include "serve/steady_state.h"

#include <gtest/gtest.h>

#include "serve/metrics.h"
#include "support/random.h"

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
  return o;  // no host times: overlapped, nothing between steps
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
  return metrics_of(*simulate(*generate(w), o));
}

// The highest rate that has a steady state.
double highest_rate(const SimulationOptions& o, SteadyLoad load) {
  double low = 1e-3, high = 1e5;
  for (int i = 0; i < 30; ++i) {
    load.rate = std::sqrt(low * high);
    (steady_state(o, load).saturated() ? high : low) = load.rate;
  }
  return low;
}

TEST(ServeSteadyState, StepsOfOneLengthByHand) {
  const LineCost cost(10, 0, 0);
  SimulationOptions o = deployment_of(Policy::vllm, cost, 100000);
  // 20 a second, each for 100 steps of 10 ms after the first: 20 at a time.
  const SteadyState s = steady_state(o, load_of(20, 100, 101));
  ASSERT_FALSE(s.saturated());
  EXPECT_NEAR(s.tpot.base(), 0.010, 1e-9);
  EXPECT_NEAR(s.decoding, 20, 1e-6);
  EXPECT_NEAR(s.cache, 20 * 10 / 100000.0, 1e-4);  // 151 tokens in 10 blocks each, about
  // Half a step, one that was planned already, and its own.
  EXPECT_NEAR(s.ttft.base(), 0.025, 1e-4);
  EXPECT_NEAR(s.ttft_wait.base(), 0.015, 1e-4);
  EXPECT_NEAR(s.ttft_at(Statistic::p90).base(), 0.010 + 0.015 * 2.3026, 1e-4);
  o.pool.host.overlapped = false;
  EXPECT_NEAR(steady_state(o, load_of(20, 100, 101)).ttft.base(), 0.015, 1e-4);
  // Nobody else is there: its own step alone.
  EXPECT_NEAR(steady_state(o, load_of(1e-4, 100, 101)).ttft.base(), 0.010, 1e-5);
}

TEST(ServeSteadyState, HostTimesAreTheFrontEnds) {
  const LineCost cost(10, 0, 0);
  SimulationOptions o = deployment_of(Policy::vllm, cost, 100000);
  o.pool.host.receive = milliseconds(2), o.pool.host.per_request = milliseconds(1);
  o.pool.host.per_prompt_token = microseconds(10);
  const double before = 0.010;
  // 1 ms, 100 tokens of 10 us, 2 ms on the way, nobody before it.
  EXPECT_NEAR(steady_state(o, load_of(1e-4, 100, 101)).ttft.base() - before, 0.004, 1e-5);
  // 2 ms of work each: at 500 a second there is no end to the queue.
  EXPECT_EQ(steady_state(o, load_of(500, 100, 2)).limit, Limit::front_end);
}

TEST(ServeSteadyState, TokensPerSecondAreTheLimit) {
  // 100,000 tokens a second, however they are grouped; a request has 600 + 399.
  const LineCost cost(0.01, 10, 0);
  for (const Policy policy : {Policy::vllm, Policy::trtllm_no_evict}) {
    SimulationOptions o = deployment_of(policy, cost, 1000000);
    o.pool.limits.max_sequences = 2000;
    EXPECT_NEAR(highest_rate(o, load_of(0, 600, 400)), 100.1, 5);
    o.pool.replicas = 3;
    EXPECT_NEAR(highest_rate(o, load_of(0, 600, 400)), 300.3, 15);
    EXPECT_EQ(steady_state(o, load_of(330, 600, 400)).limit, Limit::throughput);
  }
}

TEST(ServeSteadyState, PlacesAreTheLimit) {
  const LineCost cost(10, 0, 0);
  SimulationOptions o = deployment_of(Policy::vllm, cost, 100000);
  o.pool.limits.max_sequences = 50;
  const SteadyLoad load = load_of(0, 100, 101);  // a second each: 50 a second
  EXPECT_NEAR(highest_rate(o, load), 50, 0.6);
  EXPECT_EQ(steady_state(o, load_of(55, 100, 101)).limit, Limit::sequences);
  // Waiting begins before that.
  EXPECT_GT(steady_state(o, load_of(47, 100, 101)).ttft.base(), 0.030);
  o.pool.limits.max_sequences = 1000;
  o.pool.blocks = 50 * 10;  // 151 tokens on average, 10 blocks of 16
  EXPECT_NEAR(highest_rate(o, load), 50, 0.6);
  EXPECT_EQ(steady_state(o, load_of(55, 100, 101)).limit, Limit::cache);
  o.pool.limits.policy = Policy::trtllm_no_evict;  // 201 tokens promised, 13 blocks
  EXPECT_NEAR(highest_rate(o, load), std::floor(500 / 13.0), 0.6);
  EXPECT_EQ(steady_state(o, load_of(1, 10000, 101)).limit, Limit::length);
}

TEST(ServeSteadyState, ErlangsFormula) {
  EXPECT_NEAR(erlang_c(1, 0.5), 0.5, 1e-12);
  EXPECT_NEAR(erlang_c(2, 1), 1.0 / 3, 1e-12);
  EXPECT_NEAR(erlang_c(10, 8), 0.4092, 1e-4);
  EXPECT_EQ(erlang_c(4, 4), 1);
}

TEST(ServeSteadyState, LengthsVary) {
  LengthDistribution lengths;
  lengths.mean = 100, lengths.spread = 0.6;
  EXPECT_EQ(variation(lengths), 0);
  lengths.kind = LengthDistribution::Kind::lognormal;
  EXPECT_EQ(variation(lengths), 0.6);
  lengths.kind = LengthDistribution::Kind::uniform;
  EXPECT_NEAR(variation(lengths), 0.34641, 1e-5);
}

TEST(ServeSteadyState, PoolsApartByHand) {
  const LineCost cost(10, 0, 0);
  SimulationOptions o = deployment_of(Policy::vllm, cost, 100000);
  o.prefill = o.pool;
  // 7 blocks of 1600 bytes over 1.12 MB/s: 10 ms, and 5 ms of latency.
  o.link = {bytes_per_second(1.12e6), milliseconds(5)};
  const SteadyState s = steady_state(o, load_of(0.01, 100, 101));
  EXPECT_NEAR(s.ttft.base(), 0.010 + 0.015, 1e-5);
  // 100 steps of 10 ms, half a step to the next and one that was planned.
  EXPECT_NEAR(s.tpot.base(), (100 * 0.010 + 0.015) / 100, 1e-5);
  EXPECT_EQ(steady_state(o, load_of(70, 100, 101)).limit, Limit::link);
}

// Random deployments, each at two shares of the rate at which it saturates.
TEST(ServeSteadyState, AgreesWithTheSimulation) {
  constexpr Policy kPolicies[] = {Policy::vllm, Policy::sglang, Policy::trtllm_no_evict};
  Random random(3);
  double ttft_error = 0, tpot_error = 0, count = 0;
  for (int round = 0; round < 18; ++round) {
    // Drawn one after the other: arguments of a call are evaluated in an order of the compiler's own.
    const double cached_ns = 20 * random.uniform(), token_us = 5 + 30 * random.uniform(),
                 step_ms = 2 + 10 * random.uniform();
    const LineCost cost(step_ms, token_us, cached_ns);
    const Policy policy = kPolicies[round % 3];
    SimulationOptions o = deployment_of(policy, cost, 4000 + static_cast<Count>(random.below(20000)));
    o.pool.replicas = 1 + static_cast<Count>(random.below(4));
    o.pool.host.overlapped = round % 4 != 3;
    o.pool.host.receive = milliseconds(2);
    if (round % 6 == 5) o.prefill = o.pool, o.link = {gigabytes_per_second(1), microseconds(50)};
    const Count input = 64 + static_cast<Count>(random.below(3000));
    SteadyLoad load = load_of(0, input, 16 + static_cast<Count>(random.below(300)));
    const double most = highest_rate(o, load);
    for (const double share : {0.3, 0.65}) {
      load.rate = most * share;
      SCOPED_TRACE(testing::Message() << name_of(policy) << " round " << round << " share " << share << " rate "
                                      << load.rate << " input " << input << " output " << load.output.mean);
      const SteadyState s = steady_state(o, load);
      ASSERT_FALSE(s.saturated());
      const ServingMetrics m = simulated(o, load, 1200);
      EXPECT_NEAR(s.tpot.base() / m.tpot.mean, 1, 0.15);
      EXPECT_NEAR(s.ttft.base() / m.ttft.mean, 1, 0.3);
      // The tails are rough: rather too long than too short.
      EXPECT_NEAR(s.ttft_at(Statistic::p90).base() / m.ttft.p90, 1.15, 0.5);
      EXPECT_NEAR(s.tpot_at(Statistic::p90).base() / m.tpot.p90, 1, 0.25);
      tpot_error += std::abs(s.tpot.base() / m.tpot.mean - 1);
      ttft_error += std::abs(s.ttft.base() / m.ttft.mean - 1), ++count;
    }
    // Beyond, the queue grows for as long as requests come.
    load.rate = most * 1.3;
    EXPECT_TRUE(steady_state(o, load).saturated());
    if (round % 3 != round / 6) continue;
    EXPECT_GT(simulated(o, load, 1600).ttft.mean, 1.3 * simulated(o, load, 800).ttft.mean) << round;
  }
  EXPECT_LT(tpot_error / count, 0.05);
  EXPECT_LT(ttft_error / count, 0.1);
}

TEST(ServeSteadyState, PipelinesAndRanksInStep) {
  const LineCost cost(8, 20, 5);
  for (const bool pipeline : {true, false})
    for (const double share : {0.3, 0.6}) {
      SimulationOptions o = deployment_of(Policy::vllm, cost, 8000);
      if (pipeline) o.pool.stages = 2, o.pool.stage_share = 0.5, o.pool.limits.pipelined = true;
      else o.pool.in_step = o.pool.replicas = 4;
      SteadyLoad load = load_of(0, 900, 150);
      load.rate = highest_rate(o, load) * share;
      SCOPED_TRACE(testing::Message() << pipeline << " share " << share << " rate " << load.rate);
      const SteadyState s = steady_state(o, load);
      const ServingMetrics m = simulated(o, load, 1500);
      EXPECT_NEAR(s.tpot.base() / m.tpot.mean, 1, 0.15);
      EXPECT_NEAR(s.ttft.base() / m.ttft.mean, 1, 0.3);
    }
}

TEST(ServeSteadyState, MoreReplicasAreNeverSlower) {
  const LineCost cost(5, 20, 5);
  for (const Policy policy : {Policy::vllm, Policy::sglang, Policy::trtllm_no_evict}) {
    SimulationOptions o = deployment_of(policy, cost, 5000);
    double rate = 0, tpot = 1;
    for (const Count replicas : {1, 2, 3, 5, 8, 13}) {
      o.pool.replicas = replicas;
      const double most = highest_rate(o, load_of(0, 700, 150));
      EXPECT_GT(most, rate);
      const SteadyState s = steady_state(o, load_of(8, 700, 150));
      EXPECT_LE(s.tpot.base(), tpot * (1 + 1e-9));
      rate = most, tpot = s.tpot.base();
    }
  }
}

}  // namespace
}  // namespace tilecast
