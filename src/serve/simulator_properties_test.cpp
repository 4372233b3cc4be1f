// Conservation over random workloads: requests, tokens, blocks (serve/simulator_testing.h).
#include "serve/simulator_testing.h"

namespace tilecast {
namespace {

constexpr Policy kPolicies[] = {Policy::vllm, Policy::sglang, Policy::trtllm_no_evict, Policy::trtllm_max_utilization,
                                Policy::static_batch};

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

// All at once on a cache that holds a few of them: everybody waits, many are preempted, nothing is lost.
TEST(ServeSimulator, OverloadConserves) {
  Random random(23);
  for (const Policy policy : kPolicies)
    for (const bool apart : {false, true})
      for (const Count draft : {0, 2}) {
        SCOPED_TRACE(testing::Message() << name_of(policy) << (apart ? " apart" : "") << " draft " << draft);
        SimulationOptions o;
        o.pool = pool_of(policy, 24);
        o.pool.limits.speculation = {draft, 0.5};
        if (apart) {
          o.prefill = pool_of(policy, 24);
          o.link = {gigabytes_per_second(1e-3), microseconds(50)};
        }
        auto requests = random_requests(random, 300, 250);
        for (Request& r : requests) r.arrival = seconds(0);
        const auto out = simulate(requests, o);
        ASSERT_TRUE(out) << out.error().line();
        expect_conserved(requests, o, *out);
        EXPECT_GT(out->requests[299].queued(), out->requests[0].queued() * 10);
      }
}

// No request, one token in and out, and prompts that nothing can serve, under every scheduler.
TEST(ServeSimulator, EdgesConserve) {
  for (const Policy policy : kPolicies)
    for (const bool apart : {false, true})
      for (const Count draft : {0, 3}) {
        SCOPED_TRACE(testing::Message() << name_of(policy) << (apart ? " apart" : "") << " draft " << draft);
        SimulationOptions o;
        o.pool = pool_of(policy, 64);
        o.pool.limits.speculation = {draft, 0.5};
        o.context_limit = 500;
        if (apart) {
          o.prefill = pool_of(policy, 64);
          o.link = {gigabytes_per_second(1), microseconds(50)};
        }
        const Request one{seconds(0), 1, 1}, two{seconds(0), 1, 2}, late{seconds(9), 200, 3};
        const Request longest{seconds(0), 499, 1}, too_long{seconds(0), 500, 1}, huge{seconds(0), 1 << 30, 1};
        const std::vector<std::vector<Request>> cases = {
            {}, {one}, {two}, {late}, {longest}, {too_long}, {huge, huge, huge, one, too_long, two, huge}};
        for (const auto& requests : cases) {
          const auto out = simulate(requests, o);
          ASSERT_TRUE(out) << out.error().line();
          expect_conserved(requests, o, *out);
          Count refused = 0;
          for (const Request& r : requests) refused += r.input + r.output > 500;
          EXPECT_EQ(out->refusals, refused);
        }
      }
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

}  // namespace
}  // namespace tilecast
