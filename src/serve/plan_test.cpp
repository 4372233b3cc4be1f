#include "serve/plan.h"

#include <gtest/gtest.h>

#include "gpu/registry.h"
#include "model/library.h"

namespace tilecast {
namespace {

Deployment deployed(EngineKind engine, const char* gpu = "H100-SXM") {
  DeploymentOptions o;
  o.model = *find_model("Llama-3.1-8B");
  o.gpu = *find_gpu(gpu);
  o.engine.kind = engine;
  o.engine.precision = *precision_from("bf16");
  auto d = deploy(o, Method::analytic, nullptr);
  EXPECT_TRUE(d) << d.error().line();
  return *std::move(d);
}

WorkloadOptions workload_of(double rate) {
  WorkloadOptions w;
  w.requests = 800;
  w.rate = rate;
  w.input.mean = 1024, w.output.mean = 256;
  return w;
}

// At loads that leave room, the steady state is what a simulation comes to.
TEST(ServeSteady, IsWhatSimulationsComeTo) {
  for (const EngineKind engine : {EngineKind::vllm, EngineKind::sglang, EngineKind::trtllm})
    for (const double rate : {2.0, 8.0, 14.0}) {
      const Deployment d = deployed(engine);
      const SteadyState steady = steady_state(d.pool, {rate, 1024, 256});
      ASSERT_TRUE(steady.stable()) << name_of(engine) << " " << rate;
      SimulationOptions o;
      o.pool = d.pool;
      const ServingMetrics m = metrics_of(*simulate(*generate(workload_of(rate)), o));
      EXPECT_NEAR(steady.tpot.base() / m.tpot.mean, 1, 0.12) << name_of(engine) << " " << rate;
      EXPECT_NEAR(steady.ttft.base() / m.ttft.mean, 1, 0.35) << name_of(engine) << " " << rate;
    }
}

TEST(ServeSteady, TooMuchHasNone) {
  const Deployment d = deployed(EngineKind::vllm);
  EXPECT_FALSE(steady_state(d.pool, {200, 1024, 256}).stable());
  EXPECT_FALSE(steady_prefill(d.pool, {200, 1024, 256}).stable());
  // Longer steps with more requests, until the cache is the limit: few prompts, endless answers.
  const SteadyState slow = steady_state(d.pool, {0.4, 16, 8000}), quick = steady_state(d.pool, {0.2, 16, 8000});
  EXPECT_GT(slow.tpot, quick.tpot);
  EXPECT_GT(slow.cache_share, quick.cache_share);
  PoolOptions small = d.pool;
  small.blocks = 1000;
  EXPECT_EQ(steady_state(small, {0.4, 16, 8000}).limit, Limit::cache);
  small = d.pool;
  small.limits.max_sequences = 4;
  EXPECT_EQ(steady_state(small, {0.2, 16, 8000}).limit, Limit::sequences);
  // Answers alone take less than with prompts between them.
  EXPECT_LT(steady_decode(d.pool, {14, 1024, 256}).tpot, steady_state(d.pool, {14, 1024, 256}).tpot);
}

ServingPlanOptions plan_options(double rate) {
  ServingPlanOptions o;
  o.model = *find_model("Llama-3.1-8B");
  o.gpus = {*find_gpu("H100-SXM"), *find_gpu("L40S")};
  o.engines = {EngineKind::vllm};
  o.dtypes = {"bf16"};
  o.workload = workload_of(rate);
  o.workload.requests = 300;
  o.slo.ttft = seconds(1), o.slo.tpot = seconds(0.05);
  o.most_gpus = 32;
  return o;
}
Result<RankProfile> analytic(const DeploymentOptions& d) { return whole_model(d, Method::analytic, nullptr); }

TEST(ServePlan, FindsTheCheapestThatHolds) {
  ServingPlanOptions o = plan_options(20);
  o.prices = {{"H100-SXM", 3}, {"L40S", 1}};
  const auto plan = plan_serving(o, analytic);
  ASSERT_TRUE(plan) << plan.error().line();
  ASSERT_TRUE(plan->best);
  const PlanCandidate& best = plan->tried[*plan->best];
  EXPECT_TRUE(best.holds);
  EXPECT_GE(best.met, 0.9);
  EXPECT_DOUBLE_EQ(best.cost, (o.gpus[best.gpu].name == "L40S" ? 1 : 3) * static_cast<double>(best.gpus()));
  for (const PlanCandidate& c : plan->tried) EXPECT_TRUE(!c.holds || c.cost >= best.cost);
  // The front costs more only for shorter steps.
  for (std::size_t i = 1; i < plan->front.size(); ++i) {
    EXPECT_GE(plan->front[i].cost, plan->front[i - 1].cost);
    EXPECT_LT(plan->front[i].tpot, plan->front[i - 1].tpot);
  }
  EXPECT_NE(launch_command(best, "m", "").find("vllm serve m --max-num-batched-tokens"), std::string::npos);
}

TEST(ServePlan, MoreLoadOrTighterObjectivesCostNoLess) {
  const auto cost = [](const ServingPlanOptions& o) {
    const auto plan = plan_serving(o, analytic);
    return plan && plan->best ? plan->tried[*plan->best].cost : 1e9;
  };
  ServingPlanOptions o = plan_options(10);
  o.finalists = 20;
  const double base = cost(o);
  EXPECT_LT(base, 1e9);
  o.workload.rate = 40;
  EXPECT_GT(cost(o), base);
  o = plan_options(10);
  o.finalists = 20;
  o.slo.tpot = seconds(0.012);
  EXPECT_GE(cost(o), base);
}

TEST(ServePlan, SaysWhatCannotBe) {
  ServingPlanOptions o = plan_options(20);
  o.slo.tpot = microseconds(10);
  const auto none = plan_serving(o, analytic);
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->front.empty());
  EXPECT_FALSE(none->best);
  o = plan_options(20);
  o.model = *find_model("Llama-3.1-70B");
  EXPECT_EQ(plan_serving(o, analytic)->notes.size(), 2u);  // fits neither
  o = plan_options(0);
  EXPECT_FALSE(plan_serving(o, analytic));
  o = plan_options(20);
  o.slo = {};
  EXPECT_FALSE(plan_serving(o, analytic));
  o = plan_options(20);
  o.budget = 0.5;
  EXPECT_TRUE(plan_serving(o, analytic)->tried.empty());
}

}  // namespace
}  // namespace tilecast
