// Conservation with everything a fleet has, in random company: routers, tiers, autoscaling, ranks in step, pipelines.
#include "serve/metrics.h"
#include "serve/simulator_testing.h"

namespace tilecast {
namespace {

SimulationOptions random_fleet(Random& random) {
  const auto below = [&](int n) { return static_cast<Count>(random.below(static_cast<std::uint64_t>(n))); };
  SimulationOptions o;
  const Count blocks = 20 + below(60);  // drawn before the policy, whatever order a compiler gives arguments
  o.pool = pool_of(kPolicies[below(5)], blocks);
  o.router = static_cast<Router>(below(4));
  o.prefixes.apart = below(20), o.prefixes.share = random.uniform();
  o.prefixes.most_tokens = 1 + below(5000);
  o.pool.in_step = below(4) == 0 ? 2 : 1;
  o.pool.replicas = o.pool.in_step * (1 + below(3));
  o.pool.gpus = 1 + below(2);
  if (below(4) == 0 && o.pool.in_step == 1 && o.pool.limits.policy != Policy::static_batch)
    o.pool.stages = o.pool.gpus = 2, o.pool.stage_share = 0.5, o.pool.limits.pipelined = true;
  if (below(2) == 0) {
    o.pool.offload.tiers[0] = {below(100), microseconds(static_cast<double>(below(200))), microseconds(10)};
    o.pool.offload.tiers[1] = {below(100), microseconds(static_cast<double>(below(400))), microseconds(50)};
    o.pool.offload.compute_block = microseconds(150);
    o.pool.offload.always = below(2) == 0;
  }
  if (below(3) == 0) o.concurrency = 1 + below(40);
  if (below(3) == 0) {
    o.prefill = o.pool;
    o.prefill->replicas = o.pool.in_step * (1 + below(2));
    o.link = {gigabytes_per_second(0.01), microseconds(20)};
  } else if (below(2) == 0) {
    AutoscaleOptions& scale = o.autoscale.emplace();
    scale.least = 1, scale.most = 1 + below(5), scale.target = 1 + random.uniform() * 10;
    scale.signal = below(2) == 0 ? AutoscaleSignal::queue : AutoscaleSignal::concurrency;
    scale.interval = milliseconds(static_cast<double>(1 + below(100)));
    scale.cool_down = milliseconds(static_cast<double>(below(300)));
    scale.start_up = milliseconds(static_cast<double>(below(300)));
  }
  return o;
}

TEST(ServeFleet, NothingIsLost) {
  Random random(77);
  for (int round = 0; round < 150; ++round) {
    SCOPED_TRACE(round);
    const SimulationOptions o = random_fleet(random);
    const auto requests = random_requests(random, 150, 300);
    const auto out = simulate(requests, o);
    ASSERT_TRUE(out) << out.error().line();
    expect_requests_end_once(requests, *out);
    expect_tokens_conserved(o, requests, *out);
    if (!o.autoscale) expect_within_limits(o, *out);
    EXPECT_EQ(out->blocks_left, 0);
    const ServingMetrics m = metrics_of(*out, {seconds(0.1), {}, {}});
    EXPECT_EQ(m.completed + m.refused, 150);
    EXPECT_GE(*m.missed, 0);
    EXPECT_LE(m.gpu_busy, 1 + 1e-9);
    double held = 0;
    if (out->fleet)
      for (const ReplicaLife& l : out->fleet->lives) held += (l.to - l.from).base();
    const double each = static_cast<double>(o.pool.gpus * o.pool.in_step);
    if (out->fleet) {
      EXPECT_NEAR(m.gpu_hours * 3600, held * each, 1e-6 * (1 + held * each));
    }
    for (std::size_t tier = 0; tier < 2; ++tier) EXPECT_LE(out->loaded[tier], out->stored[tier]);
  }
}

// The same options give the same run.
TEST(ServeFleet, RepeatsExactly) {
  Random random(78), again(78);
  for (int round = 0; round < 20; ++round) {
    const SimulationOptions a = random_fleet(random), b = random_fleet(again);
    const auto requests = random_requests(random, 100, 300), same = random_requests(again, 100, 300);
    const auto one = simulate(requests, a), other = simulate(same, b);
    ASSERT_TRUE(one && other);
    EXPECT_EQ(one->end, other->end);
    EXPECT_EQ(one->gap_count, other->gap_count);
  }
}

}  // namespace
}  // namespace tilecast
