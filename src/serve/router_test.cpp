#include "serve/router.h"

#include <gtest/gtest.h>

#include "serve/simulator_testing.h"

namespace tilecast {
namespace {

constexpr Router kRouters[] = {Router::round_robin, Router::least_loaded, Router::power_of_two, Router::prefix_aware};

Request asking(Count prefix, Count prefix_tokens = 80, Count input = 100) {
  return {seconds(0), input, 10, prefix, prefix_tokens};
}

TEST(ServeRouter, TurnsAndLoads) {
  ReplicaRouter turns(Router::round_robin, 3), least(Router::least_loaded, 3);
  for (const Count expected : {0, 1, 2, 0}) EXPECT_EQ(turns.choose(asking(-1)), expected);
  for (const Count expected : {0, 1, 2}) EXPECT_EQ(least.choose(asking(-1)), expected);
  least.ended(1);
  EXPECT_EQ(least.choose(asking(-1)), 1);
  EXPECT_EQ(least.in_flight(), 3);
}

TEST(ServeRouter, ClosedReplicasGetNothing) {
  for (const Router kind : kRouters) {
    ReplicaRouter router(kind, 4);
    router.set_open(1, false), router.set_open(3, false);
    EXPECT_EQ(router.open(), 2);
    for (int i = 0; i < 200; ++i) {
      const Count chosen = router.choose(asking(i % 3));
      EXPECT_TRUE(chosen == 0 || chosen == 2) << name_of(kind);
    }
    router.set_open(0, false);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(router.choose(asking(-1)), 2) << name_of(kind);
    EXPECT_EQ(router.load(0) + router.load(2), 210);
  }
}

// With two choices the fullest replica stays near the mean; with turns that end at random it does not.
TEST(ServeRouter, TwoChoicesLevel) {
  ReplicaRouter router(Router::power_of_two, 16);
  for (int i = 0; i < 16000; ++i) router.choose(asking(-1));
  for (Count i = 0; i < 16; ++i) EXPECT_NEAR(static_cast<double>(router.load(i)), 1000, 8);
}

TEST(ServeRouter, PrefixesGoWhereTheyWentUnlessItIsTooLoaded) {
  PrefixRouting rule;
  rule.apart = 10;
  ReplicaRouter router(Router::prefix_aware, 3, rule);
  const Count home = router.choose(asking(7));
  const Count other = router.choose(asking(8));
  EXPECT_NE(home, other);  // the smallest tree
  for (int i = 0; i < 10; ++i) EXPECT_EQ(router.choose(asking(7)), home);
  // Eleven against none: the loads are levelled first.
  EXPECT_NE(router.choose(asking(7)), home);
  // Its share of the prompt is too small to matter.
  ReplicaRouter strict(Router::prefix_aware, 2);
  const Count first = strict.choose(asking(1, 20, 100));
  EXPECT_NE(strict.choose(asking(1, 20, 100)), first);
}

TEST(ServeRouter, ForgetsTheLeastRecentlySent) {
  PrefixRouting rule;
  rule.most_tokens = 250;
  ReplicaRouter router(Router::prefix_aware, 1, rule);
  for (Count p = 0; p < 1000; ++p) router.choose(asking(p));
  EXPECT_EQ(router.load(0), 1000);
}

// One replica behind any router is no router.
TEST(ServeRouter, OneReplicaIsTheSameBehindAny) {
  Random random(3);
  const auto requests = random_requests(random, 300, 250);
  std::vector<ServingOutcome> outcomes;
  for (const Router kind : kRouters) {
    SimulationOptions o;
    o.pool = pool_of(Policy::vllm, 60);
    o.router = kind;
    outcomes.push_back(*simulate(requests, o));
  }
  for (const ServingOutcome& out : outcomes) {
    ASSERT_EQ(out.requests.size(), outcomes[0].requests.size());
    ASSERT_EQ(out.steps.size(), outcomes[0].steps.size());
    EXPECT_EQ(out.end, outcomes[0].end);
    for (std::size_t i = 0; i < out.requests.size(); ++i) {
      EXPECT_EQ(out.requests[i].first, outcomes[0].requests[i].first);
      EXPECT_EQ(out.requests[i].last, outcomes[0].requests[i].last);
      EXPECT_EQ(out.requests[i].hits, outcomes[0].requests[i].hits);
    }
  }
}

TEST(ServeRouter, EveryRouterConserves) {
  Random random(4);
  for (const Router kind : kRouters)
    for (const bool apart : {false, true}) {
      SCOPED_TRACE(testing::Message() << name_of(kind) << apart);
      SimulationOptions o;
      o.pool = pool_of(Policy::vllm, 40);
      o.pool.replicas = 3, o.router = kind;
      if (apart) {
        o.prefill = pool_of(Policy::vllm, 40);
        o.prefill->replicas = 2;
        o.link = {gigabytes_per_second(1), microseconds(50)};
      }
      const auto requests = random_requests(random, 400, 250);
      const auto out = simulate(requests, o);
      ASSERT_TRUE(out) << out.error().line();
      expect_conserved(requests, o, *out);
    }
}

// Many prefixes over few blocks: sent to where they lie, they are found more often than in turns.
TEST(ServeRouter, PrefixesAreFoundMoreOften) {
  Random random(5);
  std::vector<Request> requests;
  for (Count i = 0; i < 600; ++i) {
    Request r{seconds(0.004 * static_cast<double>(i)), 200, 4, static_cast<Count>(random.below(24)), 160};
    requests.push_back(r);
  }
  const auto hits = [&](Router kind) {
    SimulationOptions o;
    o.pool = pool_of(Policy::vllm, 100);
    o.pool.replicas = 4, o.router = kind;
    return tally_of(*simulate(requests, o)).hits;
  };
  EXPECT_GT(hits(Router::prefix_aware), hits(Router::round_robin) * 5 / 4);
}

}  // namespace
}  // namespace tilecast
