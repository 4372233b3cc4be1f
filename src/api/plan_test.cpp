// Plans through the public API.
#include "tilecast/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "api/arguments_testing.h"
#include "support/test_files.h"

namespace tilecast {
namespace {

PlanServeQuery serving() {
  PlanServeQuery query;
  query.model = "Llama-3.2-1B", query.slo = "ttft=200ms,tpot=8ms";
  query.load.rate = 100, query.load.output = "128";
  query.gpus = {"H100-SXM"}, query.engines = {"vllm"}, query.dtypes = {"bf16"};
  query.num_prompts = 200, query.price = 2;
  query.aggregated = true;
  return query;
}

TEST(PlanServeApi, TheBestMeetsItsObjectivesAndCostsWhatItsGpusDo) {
  std::vector<double> heard;
  const auto plan = plan_serve(serving(), [&](double share) { heard.push_back(share); });
  ASSERT_TRUE(plan) << plan.error().line();
  ASSERT_TRUE(plan->best);
  const PlannedServing& best = plan->finalists[*plan->best];
  ASSERT_TRUE(best.simulated);
  EXPECT_TRUE(best.meets);
  EXPECT_LE(statistic_of(best.simulated->ttft, plan->statistic), *plan->slo.ttft);
  EXPECT_LE(statistic_of(best.simulated->tpot, plan->statistic), *plan->slo.tpot);
  EXPECT_GE(best.margin, 0);
  EXPECT_DOUBLE_EQ(*best.usd_per_hour, 2.0 * best.gpus);
  EXPECT_NEAR(*best.usd_per_million_tokens, *best.usd_per_hour / (100 * 128 * 3600 / 1e6), 1e-9);
  EXPECT_NEAR(best.tokens_per_gpu, 100.0 * 128 / best.gpus, 1e-9);
  EXPECT_NEAR(best.tokens_per_user, 1 / best.simulated->tpot.mean, 1e-9);
  EXPECT_NEAR(best.concurrency, 100 * best.simulated->e2el.mean, 1e-9);
  ASSERT_TRUE(best.chance);
  EXPECT_GE(*best.chance, 0.25);  // both objectives are met: at least two coins
  EXPECT_EQ(best.in_the_way, "");
  EXPECT_GT(best.pool.memory.weights, bytes(2e9));
  EXPECT_LE(best.pool.memory.weights + best.pool.memory.cache, best.pool.memory.visible);
  for (const PlannedServing& d : plan->finalists) {
    EXPECT_EQ(d.gpus, d.pool.gpus + (d.prefill ? d.prefill->gpus : 0));
    ASSERT_FALSE(d.launch.empty());
  }
  std::string launch;
  for (const std::string& line : best.launch) launch += line + "\n";
  EXPECT_NE(launch.find("vllm serve meta-llama/Llama-3.2-1B"), std::string::npos) << launch;
  EXPECT_NE(launch.find("--max-num-seqs " + std::to_string(best.pool.max_sequences)), std::string::npos) << launch;
  EXPECT_GT(plan->breaks.rate, 100);
  EXPECT_FALSE(heard.empty());
}

TEST(PlanServeApi, SaysWhereAFormatOfItsFinalistsIsSlowerThanAWiderOne) {
  PlanServeQuery query = serving();
  query.model = "Llama-3.1-8B", query.slo = "ttft=1s,tpot=50ms", query.load.rate = 20;
  query.gpus = {"A100-SXM-80GB"}, query.dtypes = {"int4_wo", "bf16"};
  const auto plan = plan_serve(query);
  ASSERT_TRUE(plan) << plan.error().line();
  EXPECT_THAT(plan->notes,
              testing::Contains(testing::ContainsRegex(
                  "on A100-SXM-80GB, a prompt of 1024 tokens: int4_wo is forecast slower than (bf16|fp8)")));
  query.dtypes = {"bf16"};
  const auto wide = plan_serve(query);
  ASSERT_TRUE(wide) << wide.error().line();
  EXPECT_THAT(wide->notes, testing::Not(testing::Contains(testing::HasSubstr("forecast slower"))));
}

TEST(PlanServeApi, RepeatsExactly) {
  const auto a = plan_serve(serving()), b = plan_serve(serving());
  ASSERT_TRUE(a && b && a->best && b->best);
  EXPECT_EQ(*a->best, *b->best);
  EXPECT_EQ(a->finalists[*a->best].simulated->ttft.p90, b->finalists[*b->best].simulated->ttft.p90);
}

TEST(PlanServeApi, PricesByGpuAndNone) {
  PlanServeQuery query = serving();
  query.price.reset(), query.prices = "h100 sxm=3.5";
  const auto own = plan_serve(query);
  ASSERT_TRUE(own && own->best) << own.error().line();
  EXPECT_DOUBLE_EQ(*own->finalists[*own->best].usd_per_hour, 3.5 * own->finalists[*own->best].gpus);
  query.prices.clear(), query.gpus = {"H20"};
  const auto none = plan_serve(query);
  ASSERT_TRUE(none && none->best) << (none ? "" : none.error().line());
  EXPECT_FALSE(none->finalists[*none->best].usd_per_hour);
  ASSERT_EQ(none->notes.size(), 1u);
  EXPECT_NE(none->notes.front().find("no price of H20"), std::string::npos);
}

TEST(PlanServeApi, NothingMeets) {
  PlanServeQuery query = serving();
  query.slo = "ttft=1us", query.gpus = {"2xH100-SXM"};
  const auto plan = plan_serve(query);
  ASSERT_TRUE(plan) << plan.error().line();
  EXPECT_FALSE(plan->best);
  ASSERT_TRUE(plan->nearest);
  EXPECT_LE(plan->nearest->gpus, 2);
  EXPECT_NE(plan->nearest->in_the_way.find("TTFT"), std::string::npos) << plan->nearest->in_the_way;
}

// T4 multiplies bf16 on its vector pipe: that, not the objectives, is what to change.
TEST(PlanServeApi, NamesTheFormatWhereNothingMeetsForIt) {
  PlanServeQuery query = serving();
  query.slo = "ttft=1us", query.gpus = {"2xT4"};
  const auto plan = plan_serve(query);
  ASSERT_TRUE(plan) << plan.error().line();
  EXPECT_FALSE(plan->best);
  EXPECT_NE(plan->format_cause.find("dtype fp16"), std::string::npos) << plan->format_cause;
  query.dtypes = {"fp16"};
  EXPECT_EQ(plan_serve(query)->format_cause, "");
}

TEST(PlanTrainApi, SaysWhatIsTakenForGrantedOfAPlainNode) {
  PlanTrainQuery query;
  query.model = "Llama-3.2-1B", query.gpus = "8xRTX-4090", query.global_batch = 16, query.seq = 1024;
  const auto plan = plan_train(query);
  ASSERT_TRUE(plan) << plan.error().line();
  ASSERT_EQ(plan->notes.size(), 1u);
  EXPECT_NE(plan->notes[0].find("no node of RTX-4090 is described"), std::string::npos);
  query.gpus = "8xH100";
  EXPECT_TRUE(plan_train(query)->notes.empty());
}

TEST(PlanServeApi, ErrorsNameTheField) {
  const auto refused = [](const std::string& field, const auto& change) {
    PlanServeQuery query = serving();
    change(query);
    const auto plan = plan_serve(query);
    ASSERT_FALSE(plan) << field;
    EXPECT_EQ(plan.error().field, field) << plan.error().line();
    EXPECT_EQ(plan.error().line().find("--"), std::string::npos) << plan.error().line();
  };
  refused("model", [](PlanServeQuery& q) { q.model = ""; });
  refused("rate", [](PlanServeQuery& q) { q.load.rate.reset(); });
  refused("rate", [](PlanServeQuery& q) { q.load.rate = 0; });
  refused("slo", [](PlanServeQuery& q) { q.slo = ""; });
  refused("slo", [](PlanServeQuery& q) { q.slo = "speed=1"; });
  refused("input", [](PlanServeQuery& q) { q.load.input = "1000000"; });
  refused("input", [](PlanServeQuery& q) { q.context_limit = 1000; });
  refused("gpus", [](PlanServeQuery& q) { q.gpus = {"0xH100-SXM"}; });
  refused("prices", [](PlanServeQuery& q) { q.prices = "H100-SXM=cheap"; });
  refused("prices", [](PlanServeQuery& q) { q.prices = "H1000=2"; });
  refused("prices", [](PlanServeQuery& q) { q.prices = "H100=2,H100-SXM=3"; });
  refused("layout", [](PlanServeQuery& q) { q.layouts = {"tp"}; });
  refused("layout", [](PlanServeQuery& q) { q.layouts = {"zp4"}; });
  refused("min-chance", [](PlanServeQuery& q) { q.min_chance = 1.5; });
  refused("routing", [](PlanServeQuery& q) { q.routing = "gamma:2"; });
  refused("gpus", [](PlanServeQuery& q) { q.gpus = {"H1000"}; });
  refused("rate", [](PlanServeQuery& q) { q.objective = ServingObjective::load; });
  refused("slo", [](PlanServeQuery& q) { q.objective = ServingObjective::throughput, q.load.rate.reset(); });
  refused("max-gpus", [](PlanServeQuery& q) { q.max_gpus = 0; });
  refused("budget", [](PlanServeQuery& q) { q.budget = 0; });
  refused("price", [](PlanServeQuery& q) { q.price = -1; });
  refused("engine", [](PlanServeQuery& q) { q.engines = {"pytorch"}; });
  refused("engine", [](PlanServeQuery& q) { q.engines = {"none"}; });
  refused("dtype", [](PlanServeQuery& q) { q.dtypes = {"fp7"}; });
  refused("kv-dtype", [](PlanServeQuery& q) { q.kv_dtype = "fp4"; });
  refused("num-prompts", [](PlanServeQuery& q) { q.num_prompts = 0; });
  refused("aggregated", [](PlanServeQuery& q) { q.disaggregated = true; });
}

PlanTrainQuery training() {
  PlanTrainQuery query;
  query.model = "Llama-3.2-1B", query.gpus = "4xH100-SXM", query.global_batch = 8, query.seq = 1024;
  query.tokens = 1e9, query.price = 2, query.top = 3;
  return query;
}

TEST(PlanTrainApi, RanksAndCosts) {
  const auto plan = plan_train(training());
  ASSERT_TRUE(plan) << plan.error().line();
  EXPECT_EQ(plan->model, "Llama-3.2-1B");
  EXPECT_EQ(plan->gpus, 4);
  EXPECT_EQ(plan->ranked.size(), 3u);
  EXPECT_GT(plan->fit, 3);
  EXPECT_LE(plan->fit, plan->tried);
  EXPECT_TRUE(std::is_sorted(plan->ranked.begin(), plan->ranked.end(),
                             [](const PlannedTraining& a, const PlannedTraining& b) { return a.step < b.step; }));
  for (const PlannedTraining& t : plan->ranked) {
    EXPECT_EQ(t.tp * t.cp * t.dp * t.pp, 4) << t.layout;
    EXPECT_LE(t.memory, plan->gpu_memory);
    EXPECT_GE(t.memory, plan->smallest.memory);
    EXPECT_LE(t.interval.low, t.step);
    EXPECT_GE(t.interval.high, t.step);
    EXPECT_NEAR(t.tokens_per_second, 8 * 1024 / t.step.base(), 1e-6 * t.tokens_per_second);
  }
  const double hours = 1e9 / plan->ranked.front().tokens_per_second / 3600;
  const TrainingRun& whole = plan->whole;
  EXPECT_NEAR(whole.undisturbed_days, hours / 24, 1e-9 * whole.days);
  EXPECT_NEAR(whole.days * whole.goodput, hours / 24, 1e-9 * whole.days);
  EXPECT_NEAR(whole.gpu_hours, 4 * 24 * whole.days, 1e-9 * whole.gpu_hours);
  EXPECT_NEAR(*whole.usd, 2 * whole.gpu_hours, 1e-9 * *whole.usd);
  EXPECT_EQ(whole.steps, std::ceil(1e9 / (8 * 1024)));
  EXPECT_NEAR(whole.checkpoint.base(), 12 * 1.236e9, 0.01 * 12 * 1.236e9);  // fp32 parameters and two states
  EXPECT_EQ(plan->price_source, "as given");
}

TEST(PlanTrainApi, WithoutFailuresNothingIsLost) {
  PlanTrainQuery query = training();
  query.gpu_mtbf = 0;
  const auto plan = plan_train(query);
  ASSERT_TRUE(plan) << plan.error().line();
  EXPECT_EQ(plan->whole.days, plan->whole.undisturbed_days);
  EXPECT_EQ(plan->whole.failures, 0);
  query.gpu_mtbf = 10;
  const auto failing = plan_train(query);
  ASSERT_TRUE(failing);
  EXPECT_GT(failing->whole.days, plan->whole.days);
  EXPECT_EQ(failing->ranked.front().layout, plan->ranked.front().layout);
}

TEST(PlanTrainApi, CountsTheGpusADeadlineNeeds) {
  PlanTrainQuery query = training();
  query.gpus = "H100-SXM", query.global_batch = 64, query.tokens = 1e11, query.deadline = 1;
  const auto plan = plan_train(query);
  ASSERT_TRUE(plan) << plan.error().line();
  EXPECT_LE(plan->whole.days, 1);
  ASSERT_GE(plan->tried_gpus.size(), 2u);
  EXPECT_EQ(plan->tried_gpus.back(), plan->gpus);
  // One number fewer does not meet it.
  query.gpus = std::to_string(plan->tried_gpus[plan->tried_gpus.size() - 2]) + "xH100-SXM";
  const auto fewer = plan_train(query);
  ASSERT_TRUE(fewer) << fewer.error().line();
  EXPECT_GT(fewer->whole.days, 1);
}

TEST(PlanTrainApi, SpendsABudgetOnTime) {
  PlanTrainQuery query = training();
  query.gpus = "H100-SXM", query.global_batch = 64, query.tokens = 1e11, query.budget = 2000;
  const auto plan = plan_train(query);
  ASSERT_TRUE(plan) << plan.error().line();
  EXPECT_LE(*plan->whole.usd, 2000);
  for (const int gpus : plan->tried_gpus) {
    query.gpus = std::to_string(gpus) + "xH100-SXM";
    const auto other = plan_train(query);
    ASSERT_TRUE(other) << other.error().line();
    EXPECT_TRUE(*other->whole.usd > 2000 || other->whole.days >= plan->whole.days) << gpus;
  }
  query.gpus = "H100-SXM", query.budget = 1;
  const auto nearest = plan_train(query);
  ASSERT_TRUE(nearest) << nearest.error().line();
  EXPECT_GT(*nearest->whole.usd, 1);
}

TEST(PlanTrainApi, AdviceIsAGainAndScalingHasThePlanInIt) {
  PlanTrainQuery query = training();
  query.scaling = true, query.gpus = "16xH100-SXM", query.global_batch = 64;
  const auto plan = plan_train(query);
  ASSERT_TRUE(plan) << plan.error().line();
  double before = 1;
  for (const TrainingAdvice& a : plan->advice) {
    EXPECT_GT(a.gain, 0) << a.what;
    EXPECT_LE(a.gain, before) << a.what;
    before = a.gain;
  }
  ASSERT_EQ(plan->strong.size(), 5u);
  ASSERT_EQ(plan->weak.size(), 5u);
  EXPECT_EQ(plan->strong[2].gpus, 16);
  EXPECT_EQ(plan->strong[2].tokens_per_second, plan->ranked.front().tokens_per_second);
  EXPECT_EQ(plan->weak[4].gpus, 64);
  EXPECT_EQ(plan->weak[4].global_batch, 256);
  for (std::size_t i = 1; i < plan->weak.size(); ++i)
    EXPECT_GT(plan->weak[i].tokens_per_second, plan->weak[i - 1].tokens_per_second);
}

// What somebody can do: settings, cards and networks on sale; never a card of 700 GiB.
TEST(PlanTrainApi, AdvisesWhatCanBeDone) {
  PlanTrainQuery query = training();
  query.model = "Llama-3.1-8B", query.gpus = "16xH100-SXM@ethernet-100", query.global_batch = 64, query.seq = 4096;
  query.storage = 0.1;  // so slow that checkpoints are felt
  const auto texts = [](const PlanTrainQuery& q) {
    const auto plan = plan_train(q);
    EXPECT_TRUE(plan) << plan.error().line();
    std::string all;
    for (const TrainingAdvice& a : plan->advice) all += a.what + "\n";
    return all;
  };
  const auto has = [](const std::string& all, const char* part) { return all.find(part) != std::string::npos; };
  const std::string slow = texts(query);
  EXPECT_TRUE(has(slow, "--train-precision fp8-current")) << slow;
  EXPECT_TRUE(has(slow, "25 GB/s a GPU between nodes (hdr200)")) << slow;
  EXPECT_TRUE(has(slow, "checkpoints written while the training goes on")) << slow;
  EXPECT_FALSE(has(slow, "memory for")) << slow;
  EXPECT_FALSE(has(slow, "twice as fast")) << slow;
  query.gpu_mtbf = 0;  // nothing is saved
  EXPECT_FALSE(has(texts(query), "checkpoints"));
  // What is set already, and what a card cannot do, is no advice.
  query.train.precision = TrainPrecision::fp8_current;
  EXPECT_FALSE(has(texts(query), "--train-precision"));
  query.train.precision = TrainPrecision::none, query.gpus = "8xA100-SXM-80GB";
  EXPECT_FALSE(has(texts(query), "--train-precision"));
}

// The next larger card of its generation, with the layout that is best there.
TEST(PlanTrainApi, NamesTheCardThatHoldsMore) {
  PlanTrainQuery query = training();
  query.model = "Llama-3.1-8B", query.gpus = "4xH100-SXM", query.global_batch = 16, query.seq = 16384;
  const auto plan = plan_train(query);
  ASSERT_TRUE(plan) << plan.error().line();
  const auto larger = std::find_if(plan->advice.begin(), plan->advice.end(),
                                   [](const TrainingAdvice& a) { return a.what.starts_with("4 H200-SXM ("); });
  ASSERT_NE(larger, plan->advice.end());
  query.gpus = "4xH200-SXM";
  const auto other = plan_train(query);
  ASSERT_TRUE(other) << other.error().line();
  EXPECT_NEAR(larger->gain, 1 - other->ranked.front().step / plan->ranked.front().step, 0.005);
}

TEST(PlanTrainApi, PricesOfATableAndNone) {
  const TestFolder folder;
  PlanTrainQuery query = training();
  query.price.reset();
  query.prices = folder.plain("prices.csv", "gpu,usd_per_hour\nH100-SXM,3\n");
  const auto priced = plan_train(query);
  ASSERT_TRUE(priced) << priced.error().line();
  EXPECT_EQ(priced->usd_per_gpu_hour, 3);
  EXPECT_EQ(priced->price_source, query.prices);
  query.prices = folder.plain("others.csv", "gpu,usd_per_hour\nB200,3\n");
  const auto none = plan_train(query);
  ASSERT_TRUE(none) << none.error().line();
  EXPECT_FALSE(none->usd_per_gpu_hour);
  EXPECT_FALSE(none->whole.usd);
  EXPECT_EQ(none->price_source, "no price of H100-SXM is known");
}

TEST(PlanTrainApi, NothingFits) {
  PlanTrainQuery query = training();
  query.model = "Llama-3.1-405B", query.gpus = "1xH100-SXM", query.seq = 8192;
  const auto plan = plan_train(query);
  ASSERT_TRUE(plan) << plan.error().line();
  EXPECT_TRUE(plan->ranked.empty());
  EXPECT_EQ(plan->fit, 0);
  EXPECT_GT(plan->smallest.memory, plan->gpu_memory);
}

TEST(PlanTrainApi, ErrorsNameTheField) {
  const auto refused = [](const std::string& field, const auto& change) {
    PlanTrainQuery query = training();
    change(query);
    const auto plan = plan_train(query);
    ASSERT_FALSE(plan) << field;
    EXPECT_EQ(plan.error().field, field) << plan.error().line();
    EXPECT_EQ(plan.error().line().find("--"), std::string::npos) << plan.error().line();
  };
  refused("model", [](PlanTrainQuery& q) { q.model = ""; });
  refused("gpus", [](PlanTrainQuery& q) { q.gpus = ""; });
  refused("global-batch", [](PlanTrainQuery& q) { q.global_batch = 0; });
  refused("seq", [](PlanTrainQuery& q) { q.seq = 0; });
  refused("dtype", [](PlanTrainQuery& q) { q.dtype = "fp7"; });
  refused("tokens", [](PlanTrainQuery& q) { q.tokens = 0; });
  refused("tokens", [](PlanTrainQuery& q) { q.tokens = 1e300; });
  refused("tokens", [](PlanTrainQuery& q) { q.tokens = 1; });  // less than a step
  refused("gpus", [](PlanTrainQuery& q) { q.gpus = "0xH100"; });
  refused("price", [](PlanTrainQuery& q) { q.price = 0; });
  refused("top", [](PlanTrainQuery& q) { q.top = 0; });
  refused("method", [](PlanTrainQuery& q) { q.method = Method::synperf; });
}

TEST(PlanApi, ArgumentsRoundTrip) {
  expect_round_trip(serving());
  PlanTrainQuery query = training();
  query.engine = TrainingEngine::compile, query.mixed = MixedPrecision::autocast;
  query.optimizer = TrainingOptimizer::sgd;
  expect_round_trip(query);
}

TEST(PlanApi, TokensAreCountedAsPeopleWriteThem) {
  PlanTrainQuery query;
  for (const BoundArgument& argument : arguments_of(query))
    if (argument.about.name == "tokens") {
      EXPECT_TRUE(argument.set("15T"));
    }
  EXPECT_EQ(query.tokens, 15e12);
}

}  // namespace
}  // namespace tilecast
