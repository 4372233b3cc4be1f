#include "serve/autoscale.h"

#include <gtest/gtest.h>

#include "serve/metrics.h"
#include "serve/simulator_testing.h"

namespace tilecast {
namespace {

AutoscaleOptions rule(Count least, Count most, double target) {
  AutoscaleOptions o;
  o.least = least, o.most = most, o.target = target;
  o.interval = seconds(1), o.cool_down = seconds(5), o.start_up = seconds(3), o.tolerance = 0.1;
  return o;
}

// Twelve requests in flight, four a replica: three are wanted, two are started, ready after three seconds. When the
// requests are gone two go, but not before the cool-down is over.
TEST(ServeAutoscale, ByHand) {
  ReplicaRouter router(Router::least_loaded, 8);
  Fleet fleet(rule(1, 8, 4), router, 1, 1, seconds(0));
  std::vector<Count> sent;
  for (int i = 0; i < 12; ++i) sent.push_back(router.choose({seconds(0), 10, 10}));
  for (const Count at : sent) EXPECT_EQ(at, 0);
  const auto started = fleet.look(seconds(1), 0);
  ASSERT_EQ(started.size(), 2u);
  EXPECT_EQ(started[0].ready_at, seconds(4));
  EXPECT_EQ(router.open(), 1);
  EXPECT_TRUE(fleet.look(seconds(2), 0).empty());  // three are there or starting
  for (const auto& s : started) EXPECT_GT(fleet.ready(s.number, seconds(4)), 0);
  EXPECT_EQ(router.open(), 3);
  EXPECT_EQ(router.choose({seconds(4), 10, 10}), 1);
  for (int i = 0; i < 12; ++i) router.ended(0);
  EXPECT_TRUE(fleet.look(seconds(5), 0).empty());
  EXPECT_EQ(router.open(), 3);  // three were wanted at second 2
  EXPECT_TRUE(fleet.look(seconds(9), 0).empty());
  EXPECT_EQ(router.open(), 1);
  EXPECT_TRUE(router.is_open(0));
  router.ended(1);
  fleet.ended(1, seconds(10));
  const FleetRecord record = std::move(fleet).finish(seconds(20));
  ASSERT_EQ(record.lives.size(), 3u);
  // 0 to 20; 1 from 1 to 10, while its request ended; 2 from 1 to 9.
  EXPECT_DOUBLE_EQ(record.replica_seconds.base(), 20 + 9 + 8);
  EXPECT_EQ(record.changes.back().on, 1);
}

TEST(ServeAutoscale, AStartIsCancelled) {
  ReplicaRouter router(Router::least_loaded, 4);
  AutoscaleOptions o = rule(1, 4, 1);
  o.cool_down = seconds(0), o.start_up = seconds(100);
  Fleet fleet(o, router, 1, 1, seconds(0));
  for (int i = 0; i < 3; ++i) router.choose({seconds(0), 10, 10});
  const auto started = fleet.look(seconds(1), 0);
  ASSERT_EQ(started.size(), 2u);
  for (int i = 0; i < 3; ++i) router.ended(0);
  fleet.look(seconds(2), 0);
  EXPECT_EQ(fleet.ready(started[0].number, seconds(101)), -1);
  EXPECT_EQ(router.open(), 1);
  const FleetRecord record = std::move(fleet).finish(seconds(10));
  EXPECT_DOUBLE_EQ(record.replica_seconds.base(), 10 + 1 + 1);
}

TEST(ServeAutoscale, RefusesWhatMakesNoSense) {
  EXPECT_TRUE(check(rule(1, 4, 2)));
  EXPECT_FALSE(check(rule(0, 4, 2)));
  EXPECT_FALSE(check(rule(5, 4, 2)));
  EXPECT_FALSE(check(rule(1, 4, 0)));
  AutoscaleOptions o = rule(1, 4, 2);
  o.interval = seconds(0);
  EXPECT_FALSE(check(o));
}

// A busy hour between two quiet ones.
std::vector<Request> wave(Random& random, double scale) {
  std::vector<Request> requests;
  double at = 0;
  while (at < 300) {
    const double rate = at > 100 && at < 200 ? 40 * scale : 2 * scale;
    at += random.exponential() / rate;
    requests.push_back(
        {seconds(at), 1 + static_cast<Count>(random.below(400)), 1 + static_cast<Count>(random.below(300))});
  }
  return requests;
}

SimulationOptions scaled(const AutoscaleOptions& rule, Policy policy = Policy::vllm) {
  SimulationOptions o;
  o.pool = pool_of(policy, 400);
  o.pool.gpus = 2, o.pool.idle = watts(100);
  o.router = Router::least_loaded;
  o.autoscale = rule;
  return o;
}

TEST(ServeAutoscale, FollowsTheLoadAndConserves) {
  Random random(41);
  const auto requests = wave(random, 1);
  for (const Policy policy : {Policy::vllm, Policy::sglang, Policy::trtllm_no_evict}) {
    SimulationOptions o = scaled(rule(1, 8, 4), policy);
    const auto out = simulate(requests, o);
    ASSERT_TRUE(out) << out.error().line();
    expect_requests_end_once(requests, *out);
    expect_tokens_conserved(o, requests, *out);
    EXPECT_EQ(out->blocks_left, 0);
    ASSERT_TRUE(out->fleet);
    Count most = 0;
    for (const FleetChange& c : out->fleet->changes) {
      EXPECT_GE(c.on, 1);
      EXPECT_LE(c.on + c.starting + c.draining, 8);
      most = std::max(most, c.on);
    }
    EXPECT_GT(most, 2);
    // GPU hours are the sum over lives, and no step runs outside one.
    const ServingMetrics m = metrics_of(*out);
    double held = 0;
    for (const ReplicaLife& l : out->fleet->lives) {
      held += (l.to - l.from).base();
      EXPECT_LE(l.from, l.ready);
      EXPECT_LE(l.ready, l.to);
    }
    EXPECT_NEAR(m.gpu_hours * 3600, 2 * held, 1e-6 * held);
    for (const StepRecord& s : out->steps) {
      const bool alive = std::any_of(out->fleet->lives.begin(), out->fleet->lives.end(), [&](const ReplicaLife& l) {
        return l.replica == s.replica && l.ready <= s.start && s.end <= l.to + nanoseconds(1);
      });
      EXPECT_TRUE(alive);
    }
    EXPECT_LT(m.gpu_hours * 3600, 2 * 8 * m.duration);
    EXPECT_GT(over_time(*out, 10)[5].replicas, over_time(*out, 10)[0].replicas);
  }
}

// From one to one it is a fixed replica, to the last digit.
TEST(ServeAutoscale, OneToOneIsFixed) {
  Random random(42);
  const auto requests = wave(random, 0.3);
  SimulationOptions o = scaled(rule(1, 1, 4));
  const auto scaled_run = simulate(requests, o);
  o.autoscale.reset();
  const auto fixed = simulate(requests, o);
  ASSERT_TRUE(scaled_run && fixed);
  EXPECT_EQ(scaled_run->end, fixed->end);
  for (std::size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(scaled_run->requests[i].last, fixed->requests[i].last);
  EXPECT_NEAR(metrics_of(*scaled_run).gpu_hours, metrics_of(*fixed).gpu_hours, 1e-9);
}

// Ranks that step together are started and stopped together.
TEST(ServeAutoscale, GroupsOfRanks) {
  Random random(43);
  const auto requests = wave(random, 1);
  SimulationOptions o = scaled(rule(1, 4, 6));
  o.pool.in_step = 2, o.pool.replicas = 2;
  const auto out = simulate(requests, o);
  ASSERT_TRUE(out);
  expect_requests_end_once(requests, *out);
  EXPECT_EQ(out->blocks_left, 0);
  EXPECT_EQ(out->replicas, 8);
}

}  // namespace
}  // namespace tilecast
