#include "serve/plan_run.h"

#include <gtest/gtest.h>

#include "cluster/registry.h"
#include "constants/serve.h"
#include "gpu/registry.h"
#include "model/library.h"
#include "serve/plan_judge.h"

namespace tilecast {
namespace {

ServeQuery query_at(double rate) {
  ServeQuery q;
  q.model = *find_model("Llama-3.2-1B");
  q.workload.rate = rate, q.workload.requests = 0;
  q.workload.input.mean = 512, q.workload.output.mean = 256;
  q.slo.ttft = seconds(1), q.slo.tpot = milliseconds(50);
  GpuOffer offer;
  offer.gpu = *find_gpu("H100-SXM"), offer.cluster = *built_in_cluster_of("H100-SXM");
  offer.usd_per_hour = 2, offer.most = 8;
  q.gpus = {offer};
  q.engines = {EngineKind::vllm};
  q.formats = {{"bf16", ""}};
  q.layouts = {RankLayout{}};
  q.apart = false;
  return q;
}
PlannedDeployment copies_of(const ServeQuery& q, Count copies) {
  PlannedDeployment d;
  d.pool = {serving_setups(q, 0, Method::roofline, nullptr)->all.front(), copies};
  d.rate = q.workload.rate;
  return d;
}
ServingMetrics simulated(const ServeQuery& q, const PlannedDeployment& d, double rate) {
  const auto run = plan_run(q, d, rate);
  return metrics_of(*run, *simulate(run->requests, run->simulation), q);
}

// Near saturation a request is in the machine for long: the answer is that of a load that goes on, not of its
// beginning.
TEST(PlanRun, IsAsALongRunOfTheWholeFleet) {
  const ServeQuery q = query_at(0);
  const PlannedDeployment one = copies_of(q, 1);
  const double most = saturation_of(
                          one.simulation(q), [&](double rate) { return q.load(rate, 16); }, 100)
                          .rate;
  ASSERT_GT(most, 0);
  for (const double share : {0.5, 0.9}) {
    const double rate = 8 * most * share;
    const PlannedDeployment d = copies_of(q, 8);
    const auto run = plan_run(q, d, rate);
    ASSERT_TRUE(run);
    EXPECT_EQ(run->shares, 8);
    EXPECT_EQ(run->simulation.pool.replicas, 1);
    ServeQuery whole = q;
    whole.workload.requests = 60000;
    const ServingMetrics quick = simulated(q, d, rate), thorough = simulated(whole, d, rate);
    EXPECT_NEAR(quick.tpot.p90 / thorough.tpot.p90, 1, 0.1) << share;
    EXPECT_NEAR(quick.request_throughput / rate, 1, 0.1) << share;
    EXPECT_NEAR(quick.output_throughput / quick.request_throughput, 256, 1e-6);
  }
  // Beyond, requests stay away for longer than a time per token tells.
  const PlannedDeployment d = copies_of(q, 8);
  const auto beyond = plan_run(q, d, 8 * most * 1.5);
  EXPECT_FALSE(keeps_up(*beyond, metrics_of(*beyond, *simulate(beyond->requests, beyond->simulation), q)));
  const auto below = plan_run(q, d, 8 * most * 0.5);
  EXPECT_TRUE(keeps_up(*below, metrics_of(*below, *simulate(below->requests, below->simulation), q)));
}

// M/M/1 forgets over 4 / (1 - load)^2 requests (both variations are 1), M/D/1 over half as many; a run near saturation
// lasts so long that its mean queue is off by little, one that probes is shorter, and none grows without end.
TEST(PlanRun, IsLongerTheNearerToSaturation) {
  EXPECT_NEAR(requests_to_forget(1, 1, 0.9), 400, 1e-9);
  EXPECT_NEAR(requests_to_forget(1, 0, 0.9), 200, 1e-9);
  EXPECT_LT(requests_to_forget(1, 0, 1.5), 1e9);
  ServeQuery q = query_at(0);
  q.workload.output.mean = 2;  // few are in flight at a time
  PlannedDeployment d = copies_of(q, 1);
  d.rate = 100, d.most = PlanJudge(q, Method::roofline, nullptr).saturation(d);
  const auto requests = [&](double load, RunCare care) {
    return static_cast<double>(plan_run(q, d, d.most->rate * load, care)->requests.size());
  };
  const double forgets = requests_to_forget(1, 0, 0.85);
  EXPECT_GT(requests(0.85, RunCare::shown), forgets / (constants::kPlanQueueError * constants::kPlanQueueError));
  EXPECT_GT(requests(0.85, RunCare::probe), forgets / (constants::kPlanProbeError * constants::kPlanProbeError));
  EXPECT_LT(requests(0.85, RunCare::probe), requests(0.85, RunCare::shown) / 2);
  EXPECT_LT(requests(0.99, RunCare::shown), 20000);
  EXPECT_LT(requests(0.4, RunCare::shown), 1000);
}

TEST(PlanRun, WhatIsAskedForIsCountedWhole) {
  ServeQuery q = query_at(40);
  q.workload.requests = 123;
  const auto run = plan_run(q, copies_of(q, 4), 40);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->requests.size(), 123U);
  EXPECT_EQ(run->shares, 1);
  EXPECT_FALSE(run->counted);
  EXPECT_EQ(plan_workload(q, copies_of(q, 4), 40).requests, 123);
}

// A router that knows more than whose turn it is spreads a load otherwise over eight replicas than over one.
TEST(PlanRun, OnlyTurnsAreShares) {
  ServeQuery q = query_at(40);
  q.features.router = Router::least_loaded;
  EXPECT_EQ(plan_run(q, copies_of(q, 8), 40)->shares, 1);
  EXPECT_EQ(plan_run(q, copies_of(q, 8), 40)->simulation.pool.replicas, 8);
}

// At saturation it is a coin toss whether the load is served at all, whatever the times of a run that ends.
TEST(PlanRun, TheChanceIsOfTheThroughputToo) {
  ServeQuery q = query_at(0);
  q.slo = {}, q.slo.tpot = seconds(10);  // which any run meets
  PlannedDeployment d = copies_of(q, 2);
  const PlanJudge judge(q, Method::roofline, nullptr);
  d.rate = 100;
  const double most = judge.saturation(d).rate;
  double before = 1;
  for (const double share : {0.3, 0.8, 1.0, 1.3}) {
    d.rate = most * share, d.most.reset();
    ASSERT_TRUE(judge.judge(d));
    EXPECT_LE(*d.chance, before) << share;
    before = *d.chance;
    EXPECT_TRUE(share > 0.5 || *d.chance > 0.9);
    EXPECT_TRUE(share < 1 || *d.chance <= 0.5) << *d.chance;
    EXPECT_TRUE(share < 1.2 || !d.meets);
  }
}

// Conversations pause: their first turns alone are not the load of those that go on.
TEST(PlanRun, DrawnRequestsAreCountedOnceTheyFillTheMachine) {
  ServeQuery q = query_at(10);
  ConversationOptions options;
  options.turns.mean = 4, options.added.mean = 64, options.think = seconds(5);
  WorkloadOptions firsts;
  firsts.requests = 600, firsts.rate = 10, firsts.input.mean = 256, firsts.output.mean = 64;
  q.recorded = *plan_requests(*conversations_of(*generate(firsts), options), {}, 1 << 20, Statistic::p90);
  q.recorded.drawn = true;
  EXPECT_NEAR(in_seconds(q.recorded.pauses), 15, 1.5);
  const PlannedDeployment d = copies_of(q, 1);
  EXPECT_NEAR(simulated(q, d, 10).request_throughput, 40, 4);
  const auto run = plan_run(q, d, 10);
  EXPECT_LT(metrics_of(*simulate(run->requests, run->simulation)).request_throughput, 36);
}

TEST(PlanRun, PartOfARunByHand) {
  ServingOutcome outcome;
  for (int i = 0; i < 10; ++i) {
    RequestRecord r;
    r.input = 5, r.output = 3;
    r.sent = r.scheduled = seconds(i), r.first = seconds(i + 1), r.last = seconds(i + 2 + (i % 2));
    outcome.requests.push_back(r);
    StepRecord step;
    step.start = seconds(i), step.end = seconds(i + 1), step.running = 1, step.gpu = 0.5F, step.joules = 2;
    outcome.steps.push_back(step);
  }
  outcome.replicas = 1, outcome.gpus = 1, outcome.end = seconds(12), outcome.idle = watts(10);
  const ServingMetrics m = metrics_of(outcome, {}, {}, CountedSpan{seconds(4), seconds(8)});
  EXPECT_EQ(m.completed, 4);
  EXPECT_EQ(m.steps, 4);
  EXPECT_EQ(m.duration, 4);
  // 1 and 2 end after four seconds, 3 and 4 after six; what is sent at 6 ends too late.
  EXPECT_NEAR(m.request_throughput, 4 / 4.0, 1e-12);
  EXPECT_NEAR(m.gpu_busy, 0.5, 1e-9);
  ASSERT_TRUE(m.energy);
  EXPECT_NEAR(m.energy->joules, 10 * 4 + 4 * 2, 1e-6);
  const ServingMetrics thrice = times(m, 3);
  EXPECT_EQ(thrice.completed, 12);
  EXPECT_NEAR(thrice.request_throughput, 3 * m.request_throughput, 1e-12);
  EXPECT_NEAR(thrice.energy->watts, 3 * m.energy->watts, 1e-9);
  EXPECT_EQ(thrice.ttft.mean, m.ttft.mean);
}

TEST(PlanRun, SaturationIsFoundFromEitherSide) {
  const ServeQuery q = query_at(0);
  const PlannedDeployment d = copies_of(q, 1);
  const SimulationOptions one = d.simulation(q);
  const auto load = [&](double rate) { return q.load(rate, 16); };
  const Saturation up = saturation_of(one, load, 1), down = saturation_of(one, load, 1e5);
  EXPECT_NEAR(up.rate / down.rate, 1, 0.011);
  EXPECT_NE(up.limit, Limit::none);
  EXPECT_FALSE(steady_state(one, load(up.rate * 0.99)).saturated());
  EXPECT_TRUE(steady_state(one, load(up.rate * 1.01)).saturated());
}

}  // namespace
}  // namespace tilecast
