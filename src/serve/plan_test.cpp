#include "serve/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/registry.h"
#include "estimate/shipped_weights.h"
#include "gpu/registry.h"
#include "model/library.h"

namespace tilecast {
namespace {

GpuOffer offer_of(const std::string& gpu, double usd, int most) {
  GpuOffer offer;
  offer.gpu = *find_gpu(gpu);
  if (const Cluster* cluster = built_in_cluster_of(offer.gpu.name)) offer.cluster = *cluster;
  offer.usd_per_hour = usd, offer.most = most;
  return offer;
}

ServeQuery query_of(double ttft_ms, double tpot_ms, double rate) {
  ServeQuery q;
  q.model = *find_model("Llama-3.2-1B");
  q.workload.rate = rate, q.workload.requests = 300;
  q.workload.input.mean = 1024, q.workload.output.mean = 128;
  q.slo.ttft = milliseconds(ttft_ms), q.slo.tpot = milliseconds(tpot_ms);
  q.gpus = {offer_of("H100-SXM", 4, 8), offer_of("A100-SXM-80GB", 2, 8)};
  q.engines = {EngineKind::vllm};
  q.formats = {{"bf16", ""}};
  q.apart = false;
  return q;
}
Result<ServePlan> planned(const ServeQuery& q) { return plan_serving(q, Method::tilecast, &shipped_models()); }
double cost_of(const ServeQuery& q) {
  const auto plan = planned(q);
  return plan && plan->best ? plan->finalists[*plan->best].usd_per_hour.value_or(1e9) : 1e9;
}
// What the best costs for its chance; what a plan is ranked by.
double worth_of(const ServeQuery& q) {
  const auto plan = planned(q);
  return plan && plan->best ? plan_rank(q, plan->finalists[*plan->best]).value : 1e9;
}

TEST(ServePlan, PickMeetsItsObjectivesWhenSimulated) {
  ServeQuery q = query_of(200, 8, 120);
  q.apart = true;
  q.engines = {EngineKind::vllm, EngineKind::sglang};
  const auto plan = planned(q);
  ASSERT_TRUE(plan) << plan.error().line();
  ASSERT_TRUE(plan->best);
  const PlannedDeployment& best = plan->finalists[*plan->best];
  const auto metrics = metrics_of(*simulate(*generate(q.workload), best.simulation(q)), q.slo);
  EXPECT_LE(metrics.ttft.p90, 0.2);
  EXPECT_LE(metrics.tpot.p90, 0.008);
  EXPECT_NEAR(*best.usd_per_hour, best.gpus() * *q.gpus[best.pool.setup->offer].usd_per_hour, 1e-9);
  ASSERT_TRUE(best.chance && best.fast && best.slow);
  for (const PlannedDeployment& d : plan->finalists) {
    EXPECT_TRUE(!d.meets || *d.chance < 0.75 || plan_rank(q, best) <= plan_rank(q, d));
    // What is nowhere slower has no worse a chance by the same interval.
    EXPECT_TRUE(*d.chance >= 0 && *d.chance <= 1);
    EXPECT_LE(d.fast->tpot.p90, d.simulated->tpot.p90);
    EXPECT_GE(d.slow->tpot.p90, d.simulated->tpot.p90);
  }
  // Nothing on the front but the best is beaten in cost and both times.
  for (std::size_t i = 1; i < plan->front.size(); ++i) {
    const PlannedDeployment &a = plan->finalists[plan->front[i - 1]], &b = plan->finalists[plan->front[i]];
    EXPECT_LE(*a.usd_per_hour, *b.usd_per_hour);
    EXPECT_TRUE(plan->front[i] == *plan->best || b.simulated->ttft.p90 < a.simulated->ttft.p90 ||
                b.simulated->tpot.p90 < a.simulated->tpot.p90);
  }
}

TEST(ServePlan, LooserObjectivesNeverCostMore) {
  double cost = 1e9;
  for (const double factor : {0.6, 1.5, 6.0}) {
    const double now = worth_of(query_of(150 * factor, 4 * factor, 100));
    EXPECT_LE(now, cost) << factor;
    cost = now;
  }
  EXPECT_LT(cost, 1e9);
}

TEST(ServePlan, MoreGpusNeverServeLess) {
  double most = 0;
  for (const int gpus : {1, 2, 8}) {
    double low = 0, high = 2000;
    for (int i = 0; i < 3; ++i) {
      ServeQuery q = query_of(300, 10, (low + high) / 2);
      q.gpus = {offer_of("A100-SXM-80GB", 2, gpus)};
      (planned(q)->best ? low : high) = q.workload.rate;
    }
    EXPECT_GE(low, most) << gpus;
    most = low;
  }
  EXPECT_GT(most, 0);
}

TEST(ServePlan, BudgetAndNumberAreKept) {
  ServeQuery q = query_of(200, 6, 150);
  const double free = cost_of(q);
  ASSERT_LT(free, 1e9);
  q.budget = free;
  EXPECT_EQ(cost_of(q), free);
  q.budget = free * 0.9;
  const auto plan = planned(q);
  ASSERT_TRUE(plan);
  EXPECT_FALSE(plan->best && *plan->finalists[*plan->best].usd_per_hour > q.budget);
  q.budget = 1;  // less than any GPU
  const auto none = planned(q);
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->best);
  EXPECT_EQ(none->tried, 0);
  EXPECT_GT(none->too_dear, 0);
}

TEST(ServePlan, SaysWhatBreaksAndAtWhichRate) {
  const ServeQuery q = query_of(200, 8, 60);
  const auto plan = planned(q);
  ASSERT_TRUE(plan && plan->best);
  ASSERT_GT(plan->breaks.rate, q.workload.rate);
  WorkloadOptions w = q.workload;
  w.rate = plan->breaks.rate;
  const PlannedDeployment& best = plan->finalists[*plan->best];
  const auto metrics = metrics_of(*simulate(*generate(w), best.simulation(q)));
  EXPECT_LT(margin(q.slo, metrics, Statistic::p90), 0);
  const bool ttft = metrics.ttft.p90 / 0.2 > metrics.tpot.p90 / 0.008;
  EXPECT_EQ(plan->breaks.objective, ttft ? "TTFT" : "TPOT");
}

TEST(ServePlan, ImpossibleObjectivesNameTheNearest) {
  const auto plan = planned(query_of(0.1, 0.1, 5));
  ASSERT_TRUE(plan);
  EXPECT_FALSE(plan->best);
  ASSERT_TRUE(plan->nearest);
  EXPECT_LT(margin(query_of(0.1, 0.1, 5).slo, plan->nearest->steady, Statistic::p90, 128), 0);
}

// Nobody orders a coin toss, however cheap: MI300X was never measured with these kernels.
TEST(ServePlan, WhatOneMayCountOnStandsFirst) {
  ServeQuery q = query_of(500, 23, 10);
  q.model = *find_model("gpt-oss-120b");
  q.gpus = {offer_of("MI300X", 0.5, 2), offer_of("B200", 6, 2)};
  q.formats = {};
  const auto plan = planned(q);
  ASSERT_TRUE(plan && plan->best);
  const PlannedDeployment& best = plan->finalists[*plan->best];
  EXPECT_GE(*best.chance, 0.75);
  EXPECT_EQ(q.gpus[best.pool.setup->offer].gpu.name, "B200");
  bool unsure = false;
  for (const PlannedDeployment& d : plan->finalists) {
    unsure = unsure || (d.meets && *d.chance < 0.75);
    EXPECT_FALSE(unsure && d.meets && *d.chance >= 0.75) << "one to count on stands after one that is not";
  }
  EXPECT_TRUE(unsure);  // still there to be seen
}

// Another engine to choose from makes no plan dearer, though its kernels be less sure and its steady states faster.
TEST(ServePlan, AnUnsureEngineHidesNoSurerOne) {
  ServeQuery q = query_of(2000, 50, 20);
  q.model = *find_model("Qwen3-235B-A22B");
  q.workload.requests = 600, q.workload.input.mean = 2048, q.workload.output.mean = 512;
  q.gpus = {offer_of("B200", 6.69, 16)};
  q.formats = {{"fp8", "fp8"}};
  q.apart = true;
  const double alone = cost_of(q);
  EXPECT_LT(alone, 1e9);
  q.engines = {EngineKind::vllm, EngineKind::sglang};
  EXPECT_LE(cost_of(q), alone);
}

// Tokens that all crowd the same experts read fewer weights in small steps; the plan is of the routing that is said.
TEST(ServePlan, RoutingIsTheOneSaid) {
  ServeQuery q = query_of(2000, 40, 2);
  q.model = *find_model("Qwen3-30B-A3B");
  q.gpus = {offer_of("H100-SXM", 4, 1)};
  const auto tpot_with = [&](const char* routing) {
    q.routing = *routing_from(routing);
    const auto plan = planned(q);
    return plan && plan->best ? plan->finalists[*plan->best].simulated->tpot.mean : 0.0;
  };
  const double even = tpot_with("uniform"), crowded = tpot_with("power:2");
  EXPECT_GT(even, 0);
  EXPECT_GT(crowded, 0);
  EXPECT_LT(crowded, even * 0.99);
}

TEST(ServePlan, AWantedChanceIsHad) {
  ServeQuery q = query_of(200, 8, 100);
  const auto plain = planned(q);
  ASSERT_TRUE(plain && plain->best);
  q.least_chance = 0.9;
  const auto sure = planned(q);
  ASSERT_TRUE(sure && sure->best);
  EXPECT_GE(*sure->finalists[*sure->best].chance, 0.9);
  EXPECT_GE(*sure->finalists[*sure->best].usd_per_hour, *plain->finalists[0].usd_per_hour * 0.999);
  q.least_chance = 0.9999999;
  q.slo.ttft = milliseconds(20);
  const auto none = planned(q);
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->best);
}

TEST(ServePlan, MostLoadOnGivenGpus) {
  double before = 0;
  for (const int gpus : {1, 2, 4}) {
    ServeQuery q = query_of(200, 8, 0);
    q.objective = ServingObjective::load;
    q.gpus = {offer_of("H100-SXM", 4, gpus)};
    const auto plan = planned(q);
    ASSERT_TRUE(plan && plan->best) << gpus;
    const PlannedDeployment& best = plan->finalists[*plan->best];
    EXPECT_LE(best.gpus(), gpus);
    const auto metrics = metrics_of(*simulate(*generate(plan_workload(q, best, best.rate)), best.simulation(q)), q.slo);
    EXPECT_GE(margin(q.slo, metrics, q.statistic), 0);
    EXPECT_GT(best.rate * *best.chance, before);
    before = best.rate * *best.chance;
    if (gpus == 1) {
      EXPECT_GT(best.rate, 10);
    }
  }
}

TEST(ServePlan, ThroughputNeedsNeitherRateNorSlo) {
  ServeQuery q = query_of(1, 1, 0);
  q.slo = {}, q.objective = ServingObjective::throughput, q.apart = true;
  q.workload.requests = 0;
  const auto plan = planned(q);
  ASSERT_TRUE(plan) << plan.error().line();
  ASSERT_TRUE(plan->best);
  const PlannedDeployment& best = plan->finalists[*plan->best];
  EXPECT_GT(best.in_flight, 0);
  for (const PlannedDeployment& d : plan->finalists)
    EXPECT_GE(best.simulated->output_throughput / best.gpus(), d.simulated->output_throughput / d.gpus());
}

TEST(ServePlan, EnergyIsLeast) {
  ServeQuery q = query_of(400, 20, 50);
  q.objective = ServingObjective::energy;
  const auto plan = planned(q);
  ASSERT_TRUE(plan && plan->best);
  const auto joules = [](const PlannedDeployment& d) { return *d.simulated->energy->per_token; };
  const PlannedDeployment& best = plan->finalists[*plan->best];
  for (const PlannedDeployment& d : plan->finalists) EXPECT_TRUE(!d.meets || plan_rank(q, best) <= plan_rank(q, d));
  EXPECT_GT(joules(best), 0);
}

TEST(ServePlan, MissingPricesCostNoPlan) {
  ServeQuery q = query_of(200, 8, 60);
  q.gpus[0].usd_per_hour.reset();
  const auto mixed = planned(q);
  ASSERT_TRUE(mixed && mixed->best);
  EXPECT_TRUE(mixed->finalists[*mixed->best].usd_per_hour);  // those with a price first
  q.gpus[1].usd_per_hour.reset();
  const auto none = planned(q);
  ASSERT_TRUE(none && none->best);
  EXPECT_FALSE(none->finalists[*none->best].usd_per_hour);
}

TEST(ServePlan, SaysWhatIsAttainable) {
  ServeQuery q = query_of(200, 8, 1000);
  q.gpus = {offer_of("A100-SXM-80GB", 2, 1)};
  const auto plan = planned(q);
  ASSERT_TRUE(plan);
  EXPECT_FALSE(plan->best);
  ASSERT_TRUE(plan->attainable);
  EXPECT_TRUE(plan->attainable->meets);
  EXPECT_LT(plan->attainable->rate, 1000);
  EXPECT_GT(plan->attainable->rate, 5);
}

TEST(ServePlan, OnlyLayoutsAskedFor) {
  ServeQuery q = query_of(400, 20, 50);
  RankLayout two;
  two.tp = 2;
  q.layouts = {two};
  const auto plan = planned(q);
  ASSERT_TRUE(plan && plan->best);
  for (const PlannedDeployment& d : plan->finalists) EXPECT_EQ(d.pool.setup->layout.tp, 2);
}

TEST(ServePlan, EnginesAreNotAskedForWhatTheyRefuse) {
  // Experts of 1,536 over eight ranks are not whole blocks of 128: vLLM and SGLang do not start.
  ServeQuery q = query_of(2000, 50, 1);
  q.model = *find_model("Qwen3-235B-A22B-FP8");
  q.gpus = {offer_of("H200-SXM", 1, 8)};
  q.formats.clear();  // the checkpoint's own
  RankLayout whole, shared;
  whole.tp = 8, shared.tp = shared.ep = 8;
  q.layouts = {whole, shared};
  const auto setups = serving_setups(q, 0, Method::roofline, nullptr);
  ASSERT_TRUE(setups.ok());
  ASSERT_FALSE(setups->all.empty());
  for (const auto& setup : setups->all) EXPECT_EQ(setup->layout.ep, 8);
  EXPECT_GT(setups->too_large, 0);
  EXPECT_THAT(setups->does_not_fit, testing::HasSubstr("not whole blocks of 128"));
}

// What no kernel or no engine is there for is passed over; the plan is of what remains.
TEST(ServePlan, EnginesThatDoNotRunOnACardArePassedOver) {
  ServeQuery q = query_of(1000, 50, 5);
  q.gpus = {offer_of("MI250", 1, 8)};
  q.formats.clear();
  q.engines = {EngineKind::trtllm, EngineKind::sglang, EngineKind::vllm};
  const auto plan = planned(q);
  ASSERT_TRUE(plan) << plan.error().line();
  ASSERT_TRUE(plan->best);
  EXPECT_GT(plan->unsuited, 0);
  for (const PlannedDeployment& d : plan->finalists) EXPECT_NE(d.pool.setup->engine, EngineKind::trtllm);
  q.engines = {EngineKind::trtllm};
  const auto none = planned(q);
  ASSERT_TRUE(none) << none.error().line();
  EXPECT_FALSE(none->best);
  EXPECT_THAT(none->does_not_suit, testing::HasSubstr("NVIDIA's cards alone"));
}

// Chances that round to the same are still compared, where all else is the same.
TEST(ServePlan, OfTheSameWorthTheLikelierStandsFirst) {
  ServeQuery q = query_of(1000, 50, 100);
  q.engines = {EngineKind::vllm, EngineKind::sglang, EngineKind::trtllm};
  q.formats = {{"bf16", ""}, {"fp8", ""}, {"fp8", "fp8"}};
  const auto plan = planned(q);
  ASSERT_TRUE(plan && plan->best);
  for (std::size_t i = 1; i < plan->finalists.size(); ++i) {
    const PlannedDeployment &a = plan->finalists[i - 1], &b = plan->finalists[i];
    const bool alike = a.meets == b.meets && plan_rank(q, a) == plan_rank(q, b);
    EXPECT_TRUE(!alike || (*a.chance >= 0.75) != (*b.chance >= 0.75) || *a.chance >= *b.chance) << i;
  }
}

TEST(ServePlan, LayoutsOfAModelAndACluster) {
  const auto has = [](const std::vector<RankLayout>& layouts, int tp, int pp, int dp, int ep) {
    return std::any_of(layouts.begin(), layouts.end(),
                       [&](const RankLayout& l) { return l.tp == tp && l.pp == pp && l.dp == dp && l.ep == ep; });
  };
  const auto dense = serving_layouts(*find_model("Llama-3.1-8B"), offer_of("H100-SXM", 1, 16));
  EXPECT_TRUE(has(dense, 1, 1, 1, 1) && has(dense, 8, 1, 1, 1) && has(dense, 8, 2, 1, 1));
  EXPECT_FALSE(has(dense, 8, 4, 1, 1));  // 32 GPUs
  EXPECT_FALSE(has(dense, 8, 1, 1, 8));  // no experts
  const auto experts = serving_layouts(*find_model("Qwen3-30B-A3B"), offer_of("H100-SXM", 1, 16));
  EXPECT_TRUE(has(experts, 4, 1, 1, 4) && has(experts, 1, 1, 8, 8));
  EXPECT_EQ(serving_layouts(*find_model("Llama-3.1-8B"), offer_of("RTX-4090", 1, 16)).size(), 1u);
}

TEST(ServePlan, MarginsAndCostByHand) {
  Slo slo;
  slo.ttft = milliseconds(500), slo.tpot = milliseconds(40);
  EXPECT_NEAR(margin(slo, milliseconds(250), milliseconds(30), seconds(9)), 0.25, 1e-12);
  slo.e2el = seconds(10);
  EXPECT_NEAR(margin(slo, milliseconds(250), milliseconds(30), seconds(9)), 0.1, 1e-12);
  EXPECT_NEAR(margin(slo, milliseconds(600), milliseconds(30), seconds(9)), -0.2, 1e-12);
  ServeQuery q = query_of(1, 1, 10);
  // 10 x 128 tokens a second are 4.608 million an hour.
  EXPECT_NEAR(usd_per_million(4.608, 10 * 128), 1, 1e-9);
  q.workload.rate = 0;
  EXPECT_FALSE(planned(q));
  EXPECT_FALSE(planned({}));
}

}  // namespace
}  // namespace tilecast
