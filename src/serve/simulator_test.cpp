#include "serve/simulator.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

#include "serve/metrics.h"
#include "serve/simulator_testing.h"

namespace tilecast {
namespace {

TEST(ServeSimulator, ConservesRequestsTokensAndBlocks) {
  Random random(11);
  for (const Policy policy : kPolicies)
    for (int round = 0; round < 24; ++round) {
      SCOPED_TRACE(testing::Message() << name_of(policy) << " round " << round);
      SimulationOptions o;
      // From a cache that holds one request to one that holds all.
      o.pool = pool_of(policy, 16 + static_cast<Count>(random.below(200)));
      o.pool.replicas = 1 + static_cast<Count>(random.below(3));
      o.pool.host.overlapped = round % 2 == 0;
      o.pool.limits.chunked_prefill = round % 5 != 4;
      o.router = round % 3 == 0 ? Router::least_loaded : Router::round_robin;
      o.concurrency = round % 4 == 0 ? 5 : 0;
      o.context_limit = round % 6 == 5 ? 150 : 0;
      if (round % 3 == 1) o.pool.limits.speculation = {3, 0.6};
      o.pool.limits.mixed_chunk = round % 4 == 1, o.pool.limits.receive_steps = round % 5 == 2 ? 12 : 1;
      if (round % 6 == 3) o.pool.in_step = o.pool.replicas, o.pool.limits.balance_steps = 9;
      if (round % 8 == 7) {
        o.prefill = pool_of(policy, 64);
        o.prefill->limits.chunked_prefill = o.pool.limits.chunked_prefill;
        o.link = {gigabytes_per_second(1e-3), microseconds(50)};
      }
      const auto requests = random_requests(random, 120, round % 7 == 6 ? 500 : 180);
      const auto out = simulate(requests, o);
      ASSERT_TRUE(out) << out.error().line();
      expect_conserved(requests, o, *out);
    }
}

TEST(ServeSimulator, SameInputSameOutcome) {
  Random random(5);
  const auto requests = random_requests(random, 200, 180);
  SimulationOptions o;
  o.pool = pool_of(Policy::vllm, 60);
  o.pool.limits.speculation = {2, 0.5};
  const auto a = simulate(requests, o), b = simulate(requests, o);
  ASSERT_TRUE(a);
  EXPECT_EQ(a->gaps, b->gaps);
  EXPECT_EQ(a->end.base(), b->end.base());
}

TEST(ServeSimulator, NothingAndOneToken) {
  SimulationOptions o;
  o.pool = pool_of(Policy::vllm, 10);
  const auto nothing = simulate({}, o);
  ASSERT_TRUE(nothing);
  EXPECT_EQ(metrics_of(*nothing).completed, 0);
  EXPECT_EQ(metrics_of(*nothing).output_throughput, 0);
  const auto one = simulate({Request{seconds(3), 1, 1}}, o);
  ASSERT_TRUE(one);
  EXPECT_NEAR(one->requests[0].ttft().base(), 1.001e-3, 1e-12);
  EXPECT_EQ(one->steps.size(), 1u);
  EXPECT_TRUE(one->gaps.empty());
}

// One request of 300 tokens in chunks of 256 and 44, then three more tokens.
TEST(ServeSimulator, ChunksByHand) {
  SimulationOptions o;
  o.pool = pool_of(Policy::vllm, 100);
  o.pool.host.overlapped = false;
  const auto out = simulate({Request{seconds(0), 300, 4}}, o);
  ASSERT_TRUE(out);
  const double first = 1e-3 + 256e-6 + 1e-3 + 44e-6 + 256e-9;
  EXPECT_NEAR(out->requests[0].first.base(), first, 1e-12);
  EXPECT_NEAR(out->requests[0].last.base(), first + 3 * 1.001e-3 + (300 + 301 + 302) * 1e-9, 1e-12);
  EXPECT_EQ(out->most_blocks, 19);  // 303 tokens: the last one's keys are never needed
}

// Planned ahead, a request that arrives during a step misses the next one.
TEST(ServeSimulator, OverlapPlansAhead) {
  for (const bool overlapped : {false, true}) {
    SimulationOptions o;
    o.pool = pool_of(Policy::vllm, 100);
    o.pool.host.overlapped = overlapped;
    const auto out = simulate({Request{seconds(0), 10, 50}, Request{milliseconds(1.5), 10, 1}}, o);
    ASSERT_TRUE(out);
    EXPECT_EQ(out->requests[1].scheduled.base() > out->steps[1].end.base() + 1e-9, overlapped);
  }
}

TEST(ServeSimulator, VllmPreemptsTheLast) {
  SimulationOptions o;
  o.pool = pool_of(Policy::vllm, 8);  // 128 tokens
  o.pool.reuse = false;
  const auto out = simulate({Request{seconds(0), 48, 60}, Request{seconds(0), 48, 60}}, o);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->requests[0].preemptions, 0);
  EXPECT_EQ(out->requests[1].preemptions, 1);
  EXPECT_GT(out->requests[1].last, out->requests[0].last);
  expect_conserved({Request{seconds(0), 48, 60}, Request{seconds(0), 48, 60}}, o, *out);
}

TEST(ServeSimulator, NoEvictNeverPreemptsAndMaxUtilizationDoes) {
  const std::vector<Request> requests(6, Request{seconds(0), 48, 60});
  for (const Policy policy : {Policy::trtllm_no_evict, Policy::trtllm_max_utilization}) {
    SimulationOptions o;
    o.pool = pool_of(policy, 20);
    const auto out = simulate(requests, o);
    ASSERT_TRUE(out);
    EXPECT_EQ(metrics_of(*out).preemptions > 0, policy == Policy::trtllm_max_utilization) << name_of(policy);
  }
}

// A prompt that comes while another answers waits for company: so many steps at most.
TEST(ServeSimulator, TrtllmBatchesWait) {
  for (const Count steps : {0, 10}) {
    SimulationOptions o;
    o.pool = pool_of(Policy::trtllm_no_evict, 1000);
    o.pool.limits.wait_steps = steps, o.pool.limits.wait_share = 0.9;
    o.pool.host.overlapped = false;
    const auto out = simulate({Request{seconds(0), 10, 60}, Request{milliseconds(0.5), 10, 5}}, o);
    ASSERT_TRUE(out);
    // The first step ends at 1.01 ms, the others take a little more than 1 ms.
    EXPECT_NEAR(out->requests[1].scheduled.base(), 1.01e-3 + static_cast<double>(steps) * 1.001e-3, 2e-6);
  }
}

TEST(ServeSimulator, SglangComputesPromptsFirst) {
  SimulationOptions o;
  o.pool = pool_of(Policy::sglang, 1000);
  const std::vector<Request> requests(10, Request{seconds(0), 100, 20});
  const auto out = simulate(requests, o);
  ASSERT_TRUE(out);
  // No step mixes the two, and no answer goes on before the last prompt is done.
  bool decoded = false;
  for (const StepRecord& s : out->steps) {
    EXPECT_TRUE(s.prompt_tokens == 0 || s.decodes == 0);
    EXPECT_FALSE(decoded && s.prompt_tokens > 0);
    decoded = decoded || s.decodes > 0;
    EXPECT_LE(s.prompt_tokens, 128);
  }
}

TEST(ServeSimulator, SglangMixesAnswersIntoPromptsSteps) {
  SimulationOptions o;
  o.pool = pool_of(Policy::sglang, 1000);
  o.pool.limits.mixed_chunk = true;
  const std::vector<Request> requests(10, Request{seconds(0), 100, 20});
  const auto out = simulate(requests, o);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->unfinished, 0);
  bool mixed = false;
  Count waits = 0;  // steps of prompts in which requests that had begun to answer did not go on
  std::int32_t answering = 0;
  for (const StepRecord& s : out->steps) {
    mixed = mixed || (s.prompt_tokens > 0 && s.decodes > 0);
    EXPECT_LE(s.prompt_tokens + s.decodes, 128);  // answers take their share of the chunk
    if (s.prompt_tokens > 0 && answering > 0 && s.decodes == 0) ++waits;
    answering = std::max(answering, s.decodes);
  }
  EXPECT_TRUE(mixed);
  EXPECT_EQ(waits, 0);
}

TEST(ServeSimulator, SglangLooksForRequestsOnceInSomeSteps) {
  SimulationOptions o;
  o.pool = pool_of(Policy::sglang, 1000);
  o.pool.host.overlapped = false;
  // The first decodes from 1.01 ms on, steps of 1 ms; the other comes in its third step.
  const std::vector<Request> requests = {{seconds(0), 10, 60}, {milliseconds(3.5), 10, 2}};
  std::vector<double> scheduled;
  for (const Count steps : {1, 30}) {
    o.pool.limits.receive_steps = steps;
    const auto out = simulate(requests, o);
    ASSERT_TRUE(out);
    scheduled.push_back(out->requests[1].scheduled.base());
  }
  EXPECT_NEAR(scheduled[0], 4.0e-3, 0.1e-3);
  // It looks before the step after the first, and then thirty steps later.
  EXPECT_NEAR(scheduled[1], 31.1e-3, 0.1e-3);
}

TEST(ServeSimulator, BalancedRanksTakePromptsTogether) {
  SimulationOptions o;
  o.pool = pool_of(Policy::trtllm_no_evict, 1000);
  o.pool.replicas = o.pool.in_step = 2;
  // Requests go to the two in turn; both answer when a prompt comes for the first, later one for the second.
  const std::vector<Request> requests = {{seconds(0), 10, 200},
                                         {seconds(0), 10, 200},
                                         {milliseconds(5), 10, 2},
                                         {milliseconds(20), 10, 2},
                                         {milliseconds(50), 10, 2}};
  const auto alone = simulate(requests, o);
  o.pool.limits.balance_steps = 60;
  const auto balanced = simulate(requests, o);
  ASSERT_TRUE(alone && balanced);
  EXPECT_LT(alone->requests[2].scheduled.base(), 8e-3);
  EXPECT_DOUBLE_EQ(balanced->requests[2].scheduled.base(), balanced->requests[3].scheduled.base());
  EXPECT_GE(balanced->requests[2].scheduled.base(), 20e-3);
  // Nobody comes to join the last: it waits sixty steps.
  EXPECT_NEAR(balanced->requests[4].scheduled.base(), 50e-3 + 60 * 1e-3, 4e-3);
  EXPECT_EQ(balanced->unfinished, 0);
}

TEST(ServeSimulator, StaticBatchesWaitForTheLongest) {
  SimulationOptions o;
  o.pool = pool_of(Policy::static_batch, 1000);
  o.pool.limits.max_sequences = 2;
  o.pool.host.overlapped = false;
  const auto out = simulate({Request{seconds(0), 10, 5}, Request{seconds(0), 10, 50}, Request{seconds(0), 10, 5}}, o);
  ASSERT_TRUE(out);
  EXPECT_LT(out->requests[0].last, out->requests[1].last);
  EXPECT_GE(out->requests[2].scheduled, out->requests[1].last);
}

TEST(ServeSimulator, SharedPrefixesAreComputedOnce) {
  SimulationOptions o;
  o.pool = pool_of(Policy::vllm, 1000);
  std::vector<Request> requests;
  for (int i = 0; i < 20; ++i) requests.push_back({milliseconds(20 * i), 160, 3, 0, 128});
  const auto with = simulate(requests, o);
  o.pool.reuse = false;
  const auto without = simulate(requests, o);
  ASSERT_TRUE(with && without);
  EXPECT_EQ(with->requests[0].hits, 0);
  EXPECT_EQ(with->requests[19].hits, 128);
  EXPECT_NEAR(metrics_of(*with).hit_rate, 19 * 128 / (20 * 160.0), 1e-12);
  EXPECT_LT(metrics_of(*with).ttft.mean, metrics_of(*without).ttft.mean);
}

TEST(ServeSimulator, ConcurrencyIsTheMostInFlight) {
  SimulationOptions o;
  o.pool = pool_of(Policy::vllm, 1000);
  o.concurrency = 4;
  const std::vector<Request> requests(40, Request{seconds(0), 20, 10});
  const auto out = simulate(requests, o);
  ASSERT_TRUE(out);
  for (const StepRecord& s : out->steps) EXPECT_LE(s.running, 4);
  for (const RequestRecord& a : out->requests) {
    int at_once = 0;
    for (const RequestRecord& b : out->requests) at_once += b.sent <= a.sent && b.last > a.sent;
    EXPECT_LE(at_once, 4);
  }
}

// A draft that is always accepted gives draft + 1 tokens a step, one that never is gives one.
TEST(ServeSimulator, SpeculationGivesMoreTokensAStep) {
  for (const double acceptance : {0.0, 0.5, 1.0}) {
    SimulationOptions o;
    o.pool = pool_of(Policy::vllm, 1000);
    o.pool.limits.speculation = {3, acceptance};
    const auto out = simulate({Request{seconds(0), 20, 4001}}, o);
    ASSERT_TRUE(out);
    const double tokens = 4000.0 / static_cast<double>(out->steps.size() - 1);
    EXPECT_NEAR(tokens, acceptance == 0 ? 1 : acceptance == 1 ? 4 : 1 + 0.5 + 0.25 + 0.125, 0.06);
  }
}

TEST(ServeSimulator, DisaggregatedTransfersTheCache) {
  SimulationOptions o;
  o.pool = pool_of(Policy::vllm, 1000);
  o.prefill = pool_of(Policy::vllm, 1000);
  o.link = {bytes_per_second(1600e3), milliseconds(5)};  // a block a millisecond
  const auto out = simulate({Request{seconds(0), 160, 3}}, o);
  ASSERT_TRUE(out);
  // Ten blocks travel before the first token is with the client, and the second is a step's time later.
  const Seconds prompt = simulate({Request{seconds(0), 160, 1}}, o)->requests[0].first;
  EXPECT_NEAR((out->requests[0].first - prompt).base(), 15e-3, 1e-9);
  EXPECT_NEAR(out->gaps[0], 1.001e-3 + 160e-9, 1e-6);
  EXPECT_EQ(out->requests[0].given, 3);
}

TEST(ServeSimulator, RefusesByName) {
  SimulationOptions o;
  o.pool = pool_of(Policy::vllm, 8);
  o.context_limit = 100;
  const auto out = simulate({Request{seconds(0), 99, 2}, Request{seconds(0), 98, 2}}, o);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->refusals, 1);
  EXPECT_EQ(out->refused[0], "request 0: 99 + 2 tokens, the context limit is 100");
  EXPECT_FALSE(out->requests[1].refused);
  o.context_limit = 0;
  const auto large = simulate({Request{seconds(0), 120, 20}}, o);
  EXPECT_EQ(large->refused[0], "request 0: 120 + 20 tokens, the cache holds 128");
  o.pool.blocks = 0;
  EXPECT_FALSE(simulate({}, o));
}

// Ten watts at rest for each of two replicas of two GPUs, and a joule a step on each of the two abreast.
TEST(ServeSimulator, EnergyIsRestAndSteps) {
  class Warm final : public StepCost {
   public:
    Seconds of(const StepBatch&) const override { return milliseconds(2); }
    Spent spent(const StepBatch& b) const override { return {of(b), 1}; }
  };
  const Warm cost;
  SimulationOptions o;
  o.pool = pool_of(Policy::vllm, 100);
  o.pool.cost = &cost, o.pool.replicas = 2, o.pool.gpus = o.pool.abreast = 2;
  const std::vector<Request> requests(2, Request{seconds(0), 10, 5});
  EXPECT_FALSE(metrics_of(*simulate(requests, o)).energy);  // not known
  o.pool.idle = watts(10);
  const auto out = simulate(requests, o);
  ASSERT_TRUE(out);
  const auto m = metrics_of(*out);
  ASSERT_TRUE(m.energy);
  // Each replica runs one request in five steps of 2 ms, side by side.
  EXPECT_NEAR(m.duration, 10e-3, 1e-9);
  EXPECT_NEAR(m.energy->joules, 4 * 10 * 10e-3 + 2 * 5 * 2, 1e-6);
  EXPECT_NEAR(m.energy->watts, m.energy->joules / 10e-3, 1e-6);
  EXPECT_NEAR(*m.energy->per_token, m.energy->joules / 10, 1e-6);
  // Slices of the run add up to it.
  double joules = 0;
  for (const Slice& s : over_time(*out, 7)) joules += *s.watts * m.duration / 7;
  EXPECT_NEAR(joules, m.energy->joules, 1e-6);
  // Making drafts takes energy as it takes time; pools add up.
  o.pool.limits.speculation = {2, 0}, o.pool.draft_cost = 0.25;
  EXPECT_NEAR(metrics_of(*simulate({requests[0]}, o)).energy->joules, 40 * 14e-3 + 2 + 4 * 2 * 1.5, 1e-6);
  o.pool.limits.speculation = {};
  o.prefill = o.pool, o.prefill->idle = watts(20), o.link = {gigabytes_per_second(1), seconds(1)};
  EXPECT_NEAR(in_watts(*simulate(requests, o)->idle), 4 * 10 + 4 * 20, 1e-9);
  o.prefill->idle = {};
  EXPECT_FALSE(simulate(requests, o)->idle);
}

// A GPU is busy while it computes, not while it waits for the host: 2 of 5 ms here, and half of that in each of two
// stages.
TEST(ServeSimulator, BusyIsWhatKernelsTake) {
  class Fixed final : public StepCost {
   public:
    Seconds of(const StepBatch&) const override { return milliseconds(2); }
  };
  const Fixed cost;
  SimulationOptions o;
  o.pool = pool_of(Policy::vllm, 100);
  o.pool.cost = &cost;
  o.pool.host.per_step = milliseconds(5);
  const auto busy = [&] { return metrics_of(*simulate({Request{seconds(0), 10, 50}}, o)).gpu_busy; };
  EXPECT_NEAR(busy(), 0.4, 0.01);
  o.pool.gpus = 2, o.pool.stages = 2, o.pool.limits.pipelined = true;
  EXPECT_NEAR(busy(), 0.2, 0.01);
  for (const Slice& s : over_time(*simulate({Request{seconds(0), 10, 50}}, o), 3)) EXPECT_NEAR(s.busy, 0.2, 0.01);
}

TEST(ServeSimulator, MostAtOnce) {
  PoolOptions pool = pool_of(Policy::vllm, 100);
  EXPECT_EQ(most_at_once(pool, 160), 10);
  EXPECT_EQ(most_at_once(pool, 161), 9);
  EXPECT_EQ(most_at_once(pool, 1), 16);  // the sequence limit
  EXPECT_EQ(most_at_once(pool, 1601), 0);
}

TEST(ServeMetrics, PercentilesAsNumpy) {
  std::vector<float> values(101);
  std::iota(values.begin(), values.end(), 0.0f);
  const Summary s = summary_of(values);
  EXPECT_DOUBLE_EQ(s.mean, 50);
  EXPECT_DOUBLE_EQ(s.median, 50);
  EXPECT_DOUBLE_EQ(s.p90, 90);
  EXPECT_DOUBLE_EQ(s.p99, 99);
  EXPECT_DOUBLE_EQ(summary_of({1, 2}).median, 1.5);
  EXPECT_NEAR(summary_of({1, 2, 4}).p90, 3.6, 1e-6);
  EXPECT_EQ(summary_of({}).p99, 0);
}

TEST(ServeMetrics, ByHand) {
  ServingOutcome out;
  RequestRecord a, b;
  a.input = 100, a.output = 11, a.sent = seconds(1), a.scheduled = seconds(1.5), a.first = seconds(2),
  a.last = seconds(4);
  b.input = 50, b.output = 1, b.sent = seconds(2), b.scheduled = seconds(2), b.first = b.last = seconds(3);
  out.requests = {a, b};
  out.begin = seconds(1), out.end = seconds(4), out.replicas = 1;
  Slo slo;
  slo.ttft = seconds(1), slo.tpot = seconds(0.1);
  const ServingMetrics m = metrics_of(out, slo);
  EXPECT_DOUBLE_EQ(m.request_throughput, 2.0 / 3);
  EXPECT_DOUBLE_EQ(m.output_throughput, 4);
  EXPECT_DOUBLE_EQ(m.total_throughput, 54);
  EXPECT_DOUBLE_EQ(m.ttft.mean, 1);
  EXPECT_NEAR(m.tpot.mean, 0.2, 1e-7);  // the second request has none
  EXPECT_DOUBLE_EQ(m.e2el.mean, 2);
  EXPECT_DOUBLE_EQ(m.queue.mean, 0.25);
  EXPECT_DOUBLE_EQ(*m.goodput, 1.0 / 3);  // the first misses its TPOT
  EXPECT_EQ(m.peak_tokens, 106 + 51);     // at 3 s: 101 + 5, and the other's last
}

// Everything is conserved with several steps in flight, and with replicas in lock-step, in plenty and in want of
// blocks.
TEST(ServeSimulator, PipelinesAndLockStepConserve) {
  Random random(7);
  for (const Policy policy : {Policy::vllm, Policy::sglang, Policy::trtllm_no_evict, Policy::trtllm_max_utilization})
    for (const Count blocks : {20, 400})
      for (const Count stages : {1, 2, 4})
        for (const Count in_step : {1, 2}) {
          if (stages > 1 && in_step > 1) continue;
          SimulationOptions o;
          o.pool = pool_of(policy, blocks);
          o.pool.stages = stages, o.pool.stage_share = 1.0 / static_cast<double>(stages);
          o.pool.limits.pipelined = stages > 1;
          o.pool.replicas = o.pool.in_step = in_step;
          const auto requests = random_requests(random, 120, 200);
          const auto out = simulate(requests, o);
          ASSERT_TRUE(out) << out.error().line();
          expect_conserved(requests, o, *out);
        }
}

// Two requests in a pipeline of two stages: one computes in the first stage while the other is in the second. Each
// token takes a whole step, both together as long as one.
TEST(ServeSimulator, StagesWorkOnSeveralStepsAtOnce) {
  SimulationOptions o;
  o.pool = pool_of(Policy::vllm, 1000);
  o.pool.limits.max_tokens = 16;  // one prompt a step
  o.pool.stages = 2, o.pool.stage_share = 0.5;
  o.pool.limits.pipelined = true;
  const std::vector<Request> requests(2, Request{seconds(0), 16, 101});
  const auto piped = simulate(requests, o);
  ASSERT_TRUE(piped);
  o.pool.stages = 1, o.pool.stage_share = 1, o.pool.limits.pipelined = false;
  const auto plain = simulate({requests.front()}, o);
  ASSERT_TRUE(plain);
  const double alone = (plain->end - plain->begin).base(), both = (piped->end - piped->begin).base();
  EXPECT_NEAR(both / alone, 1, 0.02);
  EXPECT_NEAR(piped->requests[0].tpot()->base() / plain->requests[0].tpot()->base(), 1, 0.01);
}

// Two replicas in step: a short batch waits for a long one.
TEST(ServeSimulator, TheSlowestSetsThePace) {
  SimulationOptions o;
  o.pool = pool_of(Policy::vllm, 1000);
  o.pool.replicas = o.pool.in_step = 2;
  std::vector<Request> requests;
  for (int i = 0; i < 8; ++i) requests.push_back({seconds(0), i % 2 == 0 ? 128 : 1, 50});
  const auto out = simulate(requests, o);
  ASSERT_TRUE(out);
  std::map<double, std::set<double>> ends;
  for (const StepRecord& s : out->steps) ends[s.start.base()].insert(s.end.base());
  for (const auto& [start, end] : ends) EXPECT_EQ(end.size(), 1u) << start;
}

}  // namespace
}  // namespace tilecast
