#include "serve/plan_chance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <iterator>

#include "cluster/registry.h"
#include "estimate/shipped_weights.h"
#include "gpu/registry.h"
#include "model/library.h"
#include "serve/plan_judge.h"
#include "support/test_share.h"

namespace tilecast {
namespace {

constexpr double kNinetieth = 1.2815515655446004;
double normal_share(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

// One objective of 10, a time that the forecast puts at `middle` and its slow and fast ends at these.
PacedLoad one(double fast, double middle, double slow, BesidePace beside = {}) {
  return {{-1, 0, 1}, std::numeric_limits<double>::infinity(), {{10, {fast, middle, slow}, beside}}};
}

TEST(PlanChance, BesideByHand) {
  // On the limit it is a coin toss, at the ends of an 80 % interval one in ten and nine in ten.
  const BesidePace beside{std::log(10 / 8.0), std::log(15 / 10.0)};
  EXPECT_NEAR(chance_below(10, 10, beside), 0.5, 1e-12);
  EXPECT_NEAR(chance_below(15, 10, beside), 0.9, 1e-9);
  EXPECT_NEAR(chance_below(8, 10, beside), 0.1, 1e-9);
  // Two percent below the limit, with the interval that served runs have: hardly better than a coin.
  EXPECT_NEAR(chance_below(10, 9.8, {std::log(1.3), std::log(1.7)}), 0.52, 0.01);
  // Without a width the forecast decides.
  EXPECT_EQ(chance_below(10, 9, {}), 1);
  EXPECT_EQ(chance_below(10, 11, {}), 0);
  double before = 0;
  for (double limit = 5; limit < 40; limit += 0.5) {
    const double now = chance_below(limit, 10, beside);
    EXPECT_GE(now, before);
    before = now;
  }
}

// A time in proportion to the pace, and nothing beside it: the chance is that of the pace, to either side.
TEST(PlanChance, InProportionByHand) {
  EXPECT_NEAR(chance_of(one(8, 10, 15)), 0.5, 1e-3);
  EXPECT_NEAR(chance_of(one(6, 7.5, 10)), 0.9, 1e-3);
  EXPECT_NEAR(chance_of(one(10, 12.5, 20)), 0.1, 1e-3);
  EXPECT_NEAR(chance_of(one(5, 5, 5)), 1, 1e-9);
  EXPECT_NEAR(chance_of(one(11, 11, 11)), 0, 1e-9);
  EXPECT_EQ(chance_of({{-1, 0, 1}, std::numeric_limits<double>::infinity(), {}}), 1) << "nothing is asked for";
  // Both together: two normals make one of the root of the sum of their squares.
  const double pace = std::log(1.2), beside = std::log(1.5), room = std::log(10 / 8.0);
  EXPECT_NEAR(chance_of(one(8 / 1.2, 8, 8 * 1.2, {beside, beside})),
              normal_share(kNinetieth * room / std::hypot(pace, beside)), 1e-3);
}

// Two times that follow one pace are met together; as if they erred independently it would be the product.
TEST(PlanChance, TimesErrTogether) {
  PacedLoad load = one(6, 7.5, 10);
  load.figures.push_back(load.figures.front());
  EXPECT_NEAR(chance_of(load), 0.9, 1e-3);
  for (PacedFigure& figure : load.figures) figure.at = {5, 5, 5}, figure.beside = {0.1, std::log(2.0)};
  EXPECT_NEAR(chance_of(load), 0.81, 1e-3) << "what is beside the pace is their own";
}

TEST(PlanChance, NothingIsMetFromSaturationOn) {
  PacedLoad load = one(1, 1, 1);
  load.breaks = 1;
  EXPECT_NEAR(chance_of(load), 0.9, 1e-6);
  load.breaks = 0;
  EXPECT_NEAR(chance_of(load), 0.5, 1e-6);
  load.breaks = -1;
  EXPECT_NEAR(chance_of(load), 0.1, 1e-6);
  load.breaks = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(chance_of(load), 0);
  EXPECT_NEAR(pace_that_saturates(10, 20, 10, 8), 0, 1e-12);
  EXPECT_NEAR(pace_that_saturates(8, 20, 10, 8), 1, 1e-12);
  EXPECT_NEAR(pace_that_saturates(20, 20, 10, 8), -1, 1e-12);
  EXPECT_NEAR(pace_that_saturates(10 * 0.64, 20, 10, 8), 2, 1e-9);
  EXPECT_EQ(pace_that_saturates(5, 10, 10, 10), std::numeric_limits<double>::infinity()) << "sure to keep up";
  EXPECT_EQ(pace_that_saturates(15, 10, 10, 10), -std::numeric_limits<double>::infinity());
}

// M/D/1: a request takes s and waits load / (1 - load) / 2 of it. The slowest steps at which wait and service stay
// within the objective, by the quadratic equation; what follows from the times at three paces as if they were in
// proportion to the steps is far from it.
TEST(PlanChance, QueueByHand) {
  constexpr double kRate = 1, kSpread = 0.1, kLimit = 10;
  const auto time = [&](double s) { return s + s * (kRate * s) / (1 - kRate * s) / 2; };
  double before = 1;
  for (const double load : {0.5, 0.8, 0.9, 0.94}) {
    const double s = load / kRate;
    // s + s^2 / (1 - s) / 2 = L  <=>  s^2 - 2 (1 + L) s + 2 L = 0
    const double slowest = (1 + kLimit) - std::sqrt((1 + kLimit) * (1 + kLimit) - 2 * kLimit);
    const double exact = normal_share(kNinetieth * std::log(slowest / s) / kSpread);
    PacedLoad queue{{-1, 0, 0.5, 1}, -std::log(load) / kSpread, {{kLimit, {}, {}}}};
    for (const double pace : queue.paces) {
      const double scaled = s * std::exp(kSpread * pace);
      // At saturation and beyond a run that ends shows some long time.
      queue.figures.front().at.push_back(kRate * scaled < 1 ? std::min(time(scaled), 100.0) : 100);
    }
    const double chance = chance_of(queue);
    EXPECT_NEAR(chance, exact, 0.04) << load;
    EXPECT_LE(chance, before) << load;
    before = chance;
    if (load > 0.89) {
      // In proportion: the time, as much longer as the steps are.
      const double middle = time(s), by = std::exp(kSpread);
      EXPECT_GT(chance_of({{-1, 0, 1}, 1e9, {{kLimit, {middle / by, middle, middle * by}, {}}}}), exact + 0.15);
    }
  }
}

// ---- deployments

ServeQuery query_of(const char* model, const char* gpu, Count input, Count output) {
  ServeQuery q;
  q.model = *find_model(model);
  q.workload.requests = 0, q.workload.input.mean = input, q.workload.output.mean = output;
  q.slo.ttft = seconds(1), q.slo.tpot = milliseconds(50);
  GpuOffer offer;
  offer.gpu = *find_gpu(gpu), offer.cluster = *built_in_cluster_of(gpu);
  offer.usd_per_hour = 2, offer.most = 16;
  q.gpus = {offer};
  q.engines = {EngineKind::vllm};
  q.formats = {{"bf16", ""}};
  q.layouts = {RankLayout{}};
  return q;
}
std::shared_ptr<const ServeSetup> setup_of(const ServeQuery& q) {
  return serving_setups(q, 0, Method::tilecast, &shipped_models())->all.front();
}
PlannedDeployment deployment_of(const std::shared_ptr<const ServeSetup>& setup, Count copies, Count of_prompts) {
  PlannedDeployment d;
  d.pool = {setup, copies};
  if (of_prompts > 0) d.prefill = PlannedPool{setup, of_prompts};
  d.link = {gigabytes_per_second(400), microseconds(10)};
  d.rate = 1;
  return d;
}

struct Loaded {
  const char *name, *model, *gpu;
  Count input, output;
  EngineKind engine;
  Count of_prompts;  // copies for prompts alone; 0: together
};
const Loaded kLoads[] = {{"1B", "Llama-3.2-1B", "H100-SXM", 512, 128, EngineKind::vllm, 0},
                         {"8B", "Llama-3.1-8B", "A100-SXM-80GB", 2048, 128, EngineKind::sglang, 0},
                         {"8B apart", "Llama-3.1-8B", "H100-SXM", 2048, 64, EngineKind::sglang, 1},
                         {"8B vllm apart", "Llama-3.1-8B", "H200-SXM", 4096, 64, EngineKind::vllm, 1}};

// A plan's row says what a long simulation of the same deployment measures, near saturation too.
TEST(PlanChance, RowsAgreeWithLongSimulations) {
  for (std::size_t i = 0; i < std::size(kLoads); i += one_of(3)) {
    const Loaded& l = kLoads[i];
    ServeQuery q = query_of(l.model, l.gpu, l.input, l.output);
    q.engines = {l.engine};
    const PlanJudge judge(q, Method::tilecast, &shipped_models());
    PlannedDeployment d = deployment_of(setup_of(q), 1, l.of_prompts);
    const double most = judge.saturation(d).rate;
    for (const double load : {0.5, 0.8, 0.9}) {
      SCOPED_TRACE(testing::Message() << l.name << " at " << load);
      d.rate = most * load, d.most.reset();
      ASSERT_TRUE(judge.judge(d));
      WorkloadOptions w = q.workload;
      w.rate = d.rate, w.requests = 20000, w.seed = 7;
      const ServingMetrics thorough = metrics_of(*simulate(*generate(w), d.simulation(q)));
      // Twice the standard error of either, and what requests at a run's ends see.
      const double forgets = requests_to_forget(1, 0, load);
      const double of_row = std::sqrt(forgets / static_cast<double>(std::max<Count>(1, d.simulated->completed)));
      const double tolerance = 2 * std::hypot(of_row, std::sqrt(forgets / 20000)) + 0.05;
      EXPECT_NEAR(std::log(d.simulated->ttft.p90 / thorough.ttft.p90), 0, tolerance);
      // SGLang's answers wait for prompts, and queue as they do.
      const bool queues = l.engine == EngineKind::sglang && l.of_prompts == 0;
      EXPECT_NEAR(std::log(d.simulated->tpot.p90 / thorough.tpot.p90), 0, queues ? tolerance : 0.1);
    }
  }
}

// Whatever the load: the interval's ends lie no nearer than the run does with its steps at the ends of their pace, the
// wait to be scheduled lies within the wait for the first token, and the chance falls as the rate rises.
TEST(PlanChance, EndsAreThoseOfScaledSteps) {
  for (std::size_t i = 0; i < std::size(kLoads); i += one_of(3)) {
    const Loaded& l = kLoads[i];
    ServeQuery q = query_of(l.model, l.gpu, l.input, l.output);
    q.engines = {l.engine};
    const PlanJudge judge(q, Method::tilecast, &shipped_models());
    PlannedDeployment d = deployment_of(setup_of(q), 1, l.of_prompts);
    const double most = judge.saturation(d).rate;
    double before = 1.01;
    for (const double load : {0.4, 0.75, 0.9, 0.97, 1.1, 2.1}) {
      SCOPED_TRACE(testing::Message() << l.name << " at " << load);
      d.rate = most * load, d.most.reset();
      ASSERT_TRUE(judge.judge(d));
      EXPECT_LE(*d.chance, before + 0.02);
      before = *d.chance;
      if (load > 1) {
        EXPECT_LT(*d.chance, 0.5);
      }
      if (load > 2) {
        EXPECT_LT(*d.chance, 0.01);
      }
      const auto run = judge.run(d, d.rate, RunCare::shown);
      ASSERT_TRUE(run);
      const auto ends = serving_ends(options_of(q, *d.pool.setup), run->plan.requests, run->plan.simulation,
                                     run->outcome, q.slo, Method::tilecast, &shipped_models(), 0, run->plan.counted);
      ASSERT_TRUE(ends);
      for (double Summary::*part : {&Summary::mean, &Summary::median, &Summary::p90, &Summary::p99}) {
        EXPECT_GE(d.slow->ttft.*part, ends->slow.ttft.*part * (1 - 1e-9));
        EXPECT_GE(d.slow->tpot.*part, ends->slow.tpot.*part * (1 - 1e-9));
        EXPECT_LE(d.fast->ttft.*part, ends->fast.ttft.*part * (1 + 1e-9));
        EXPECT_LE(d.slow->queue.*part, d.slow->ttft.*part);
        EXPECT_LE(d.fast->queue.*part, d.fast->ttft.*part);
      }
      // Steps that are a few percent slower may be one half more of queue, and are where it is long.
      if (load == 0.97) {
        EXPECT_GT(d.slow->ttft.p90 / d.simulated->ttft.p90, 1.5);
      }
    }
  }
}

}  // namespace
}  // namespace tilecast
