// Conservation over random workloads: requests, tokens, blocks (serve/simulator_testing.h).
#include "serve/simulator_testing.h"

namespace tilecast {
namespace {

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

}  // namespace
}  // namespace tilecast
