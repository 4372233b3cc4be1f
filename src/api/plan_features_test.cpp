// Plans of requests that are more than lengths and a rate, and of engines that have something for them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/arguments_testing.h"
#include "support/test_files.h"
#include "tilecast/plan.h"

namespace tilecast {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

PlanServeQuery small_plan() {
  PlanServeQuery query;
  query.model = "Llama-3.2-1B", query.slo = "ttft=400ms,tpot=12ms";
  query.load.rate = 60, query.load.input = "512", query.load.output = "64";
  query.gpus = {"H100-SXM"}, query.max_gpus = 4, query.engines = {"vllm"}, query.dtypes = {"bf16"};
  query.layouts = {"1"}, query.num_prompts = 200, query.price = 2, query.aggregated = true;
  query.method = Method::analytic;
  return query;
}
template <class Change>
ServingPlan planned(const Change& change) {
  PlanServeQuery query = small_plan();
  change(query);
  auto plan = plan_serve(query);
  EXPECT_TRUE(plan) << plan.error().line();
  if (!plan) return {};
  EXPECT_TRUE(plan->best) << (plan->nearest ? plan->nearest->in_the_way : "");
  return *std::move(plan);
}
const PlannedServing& best_of(const ServingPlan& plan) { return plan.finalists[*plan.best]; }
std::string launch_of(const ServingPlan& plan) {
  std::string text;
  for (const std::string& line : best_of(plan).launch) text += line + "\n";
  for (const LaunchFile& file : best_of(plan).files) text += file.text;
  return text;
}

// The cheapest card is one that nobody measured: the plan says so, and what the first one costs that somebody did.
TEST(PlanFeatures, ACardThatNobodyMeasuredIsSaid) {
  const ServingPlan plan = planned([](PlanServeQuery& q) {
    q.method = Method::tilecast, q.slo = "ttft=5s,tpot=500ms", q.load.rate = 5;
    q.gpus = {"MI355X", "H100-SXM"}, q.price.reset(), q.prices = "MI355X=0.1,H100-SXM=50";
  });
  ASSERT_TRUE(plan.best);
  EXPECT_EQ(best_of(plan).gpu, "MI355X");
  EXPECT_EQ(best_of(plan).seen, Seen::no);
  EXPECT_THAT(plan.notes, testing::Contains(HasSubstr("first among cards that were measured: 1 x H100-SXM, vllm")));
  const ServingPlan measured = planned([](PlanServeQuery& q) { q.method = Method::tilecast; });
  EXPECT_THAT(measured.notes, testing::Not(testing::Contains(HasSubstr("first among cards"))));
}

TEST(PlanFeatures, ATraceOfEqualRequestsPlansAsTheLoadThatItIs) {
  const ServingPlan drawn = planned([](PlanServeQuery&) {});
  std::string lines = "arrival,input,output\n";
  for (int i = 0; i < 400; ++i) lines += fmt::format("{},512,64\n", i / 60.0);
  const TestFolder folder;
  const std::string trace = folder.plain("trace.csv", lines);
  const ServingPlan traced = planned([&](PlanServeQuery& q) { q.trace = trace, q.load = {}; });
  ASSERT_TRUE(drawn.best && traced.best);
  EXPECT_NEAR(traced.rate, 60, 1e-6);
  EXPECT_EQ(best_of(traced).gpus, best_of(drawn).gpus);
  EXPECT_NEAR(best_of(traced).tokens_per_gpu * best_of(traced).gpus, 60 * 64, 1e-6);
  // Sent four times as fast it is the load of four times the rate.
  const ServingPlan faster = planned([&](PlanServeQuery& q) { q.trace = trace, q.load = {}, q.load.rate = 240; });
  ASSERT_TRUE(faster.best);
  EXPECT_NEAR(best_of(faster).tokens_per_gpu * best_of(faster).gpus, 240 * 64, 1e-6);
  EXPECT_GE(best_of(faster).gpus, best_of(traced).gpus);
}

TEST(PlanFeatures, ALongTraceIsPlannedForItsBusiestStretch) {
  std::string lines = "arrival,input,output\n";
  for (int i = 0; i < 300; ++i) lines += fmt::format("{},512,64\n", i * 1.0);
  for (int i = 0; i < 300; ++i) lines += fmt::format("{},512,64\n", 300 + i / 60.0);
  const TestFolder folder;
  const std::string trace = folder.plain("bursts.csv", lines);
  const ServingPlan plan = planned([&](PlanServeQuery& q) { q.trace = trace, q.load = {}; });
  ASSERT_TRUE(plan.best);
  EXPECT_NEAR(plan.rate, 60, 1);  // the 200 that num-prompts asks for
  EXPECT_THAT(plan.notes, testing::Contains(HasSubstr("600 requests")));
}

TEST(PlanFeatures, ConversationsFindTheirHistoryAndCountAsOne) {
  const ServingPlan plan = planned([](PlanServeQuery& q) {
    q.load.rate = 10, q.requests.turns = "4", q.requests.think_time = "1s", q.router = Router::prefix_aware;
    q.num_prompts = 60;
  });
  ASSERT_TRUE(plan.best);
  EXPECT_GT(best_of(plan).simulated->hit_rate, 0.5);
  EXPECT_NEAR(best_of(plan).tokens_per_gpu * best_of(plan).gpus, 10 * 4 * 64, 1e-6);
}

TEST(PlanFeatures, ClassesAreHeldToTheirOwnObjectives) {
  const std::string lax = "chat:share=0.5,priority=0,ttft=5s;batch:share=0.5,priority=1,e2el=60s";
  const ServingPlan easy = planned([&](PlanServeQuery& q) { q.slo = "", q.requests.classes = lax; });
  ASSERT_TRUE(easy.best);
  EXPECT_EQ(best_of(easy).gpus, 1);
  ASSERT_EQ(best_of(easy).simulated->classes.size(), 2U);
  // A class that nothing can serve in time is in the way, by its name.
  PlanServeQuery hard = small_plan();
  hard.slo = "", hard.requests.classes = "chat:share=0.5,ttft=1ms;batch:share=0.5,e2el=60s";
  const auto none = plan_serve(hard);
  ASSERT_TRUE(none) << none.error().line();
  EXPECT_FALSE(none->best);
  ASSERT_TRUE(none->nearest);
  EXPECT_THAT(none->nearest->in_the_way, HasSubstr("TTFT of chat"));
  // Priorities let a tight class through a queue that a lax one waits in.
  const auto gpus_with = [](SchedulingPolicy policy) {
    PlanServeQuery q = small_plan();
    q.slo = "", q.load.rate = 260, q.num_prompts = 1500, q.requests.scheduling = policy;
    q.requests.classes = "chat:share=0.2,priority=0,ttft=150ms;batch:share=0.8,priority=1,e2el=300s";
    const auto plan = plan_serve(q);
    return plan && plan->best ? plan->finalists[*plan->best].gpus : 99;
  };
  EXPECT_LE(gpus_with(SchedulingPolicy::priority), gpus_with(SchedulingPolicy::fcfs));
}

// As many copies as one may count on, not the fewest that meet by a hair, and never so few that a queue would grow
// without end.
TEST(PlanFeatures, CopiesAreCountedOnAndLastInTheLongRun) {
  const ServingPlan plan = planned([](PlanServeQuery& q) {
    q.load.rate = 400, q.max_gpus = 32, q.num_prompts = 600, q.requests.turns = "2", q.requests.think_time = "1s";
    q.slo = "ttft=400ms,tpot=20ms";
  });
  ASSERT_TRUE(plan.best);
  EXPECT_GE(*best_of(plan).chance, 0.75);
  EXPECT_EQ(best_of(plan).limit, Limit::none);
  EXPECT_GT(best_of(plan).gpus, 1);
}

TEST(PlanFeatures, WhatIsPlannedIsWhatIsStarted) {
  EXPECT_THAT(launch_of(planned([](PlanServeQuery& q) { q.requests.adapters = 6, q.requests.max_loras = 3; })),
              HasSubstr("--enable-lora --max-loras 3 --max-lora-rank 16"));
  EXPECT_THAT(launch_of(planned([](PlanServeQuery& q) {
                q.drafts.draft = 3, q.drafts.method = DraftMethod::ngram, q.drafts.acceptance = 0.4;
              })),
              HasSubstr("\"num_speculative_tokens\":3"));
  EXPECT_THAT(
      launch_of(planned(
          [](PlanServeQuery& q) { q.engines = {"sglang"}, q.drafts.draft = 2, q.drafts.method = DraftMethod::eagle; })),
      HasSubstr("--speculative-algorithm EAGLE3 --speculative-draft-model-path NAME-AN-EAGLE3-HEAD-OF-THE-MODEL "
                "--speculative-num-steps 2 --speculative-eagle-topk 1 --speculative-num-draft-tokens 3"));
  EXPECT_THAT(launch_of(planned([](PlanServeQuery& q) { q.engines = {"trtllm"}, q.fleet.offload_host = 32; })),
              HasSubstr("host_cache_size: 32000000000"));
  EXPECT_THAT(launch_of(planned([](PlanServeQuery& q) { q.fleet.offload_host = 32; })),
              HasSubstr("--kv-offloading-backend native --kv-offloading-size 29.8"));
  EXPECT_THAT(launch_of(planned([](PlanServeQuery& q) { q.requests.scheduling = SchedulingPolicy::priority; })),
              HasSubstr("--scheduling-policy priority"));
}

TEST(PlanFeatures, DraftsThatAreAcceptedMakeFasterPlans) {
  const auto tpot = [](double acceptance) {
    const ServingPlan plan = planned([&](PlanServeQuery& q) {
      q.drafts.draft = 3, q.drafts.method = DraftMethod::ngram, q.drafts.acceptance = acceptance, q.max_gpus = 1;
    });
    return best_of(plan).simulated->tpot.mean;
  };
  EXPECT_LT(tpot(0.9), 0.7 * tpot(0.1));
}

TEST(PlanFeatures, WhatAPlanCannotTakeIsRefusedInALine) {
  const auto refused = [](const std::string& field, const auto& change) {
    PlanServeQuery query = small_plan();
    change(query);
    const auto plan = plan_serve(query);
    ASSERT_FALSE(plan) << field;
    EXPECT_EQ(plan.error().field, field) << plan.error().line();
    EXPECT_EQ(plan.error().line().find('\n'), std::string::npos);
  };
  refused("draft-method", [](PlanServeQuery& q) { q.drafts.draft = 3; });
  refused("engine", [](PlanServeQuery& q) { q.fleet.offload_host = q.fleet.offload_disk = 10; });  // vLLM, by name
  refused("prefix-tokens", [](PlanServeQuery& q) { q.load.prefixes = 4, q.load.prefix_tokens = 3000; });
  refused("engine", [](PlanServeQuery& q) { q.engines = {"trtllm"}, q.requests.adapters = 2; });
  refused("scheduling-policy",
          [](PlanServeQuery& q) { q.engines = {"sglang"}, q.requests.scheduling = SchedulingPolicy::priority; });
  refused("disaggregated",
          [](PlanServeQuery& q) { q.aggregated = false, q.disaggregated = true, q.router = Router::least_loaded; });
  refused("objective", [](PlanServeQuery& q) {
    q.objective = ServingObjective::throughput, q.slo = "", q.load.rate.reset(), q.requests.turns = "4";
  });
  refused("turns", [](PlanServeQuery& q) { q.trace = "requests.csv", q.load = {}, q.requests.turns = "4"; });
  refused("turn-input", [](PlanServeQuery& q) { q.requests.turn_input = "64"; });
  refused("cache-threshold", [](PlanServeQuery& q) { q.fleet.cache_threshold = 0.5; });
  refused("input", [](PlanServeQuery& q) { q.trace = "requests.csv"; });
  refused("model", [](PlanServeQuery& q) { q.requests.images = 1; });
}

TEST(PlanFeatures, NamesToFillInAreMarked) {
  const auto eagle = [](PlanServeQuery& q) {
    q.engines = {"sglang"}, q.drafts.draft = 2, q.drafts.method = DraftMethod::eagle;
  };
  EXPECT_THAT(best_of(planned(eagle)).to_fill_in, testing::ElementsAre(HasSubstr("EAGLE-3")));
  EXPECT_TRUE(best_of(planned([](PlanServeQuery&) {})).to_fill_in.empty());
}

// Where every set-up is saturated, what comes nearest and why it is not enough.
TEST(PlanFeatures, NearestOfASaturatedLotSaysWhatItTakes) {
  PlanServeQuery q = small_plan();
  q.load.rate = 100000, q.max_gpus = 1, q.slo = "ttft=5s,tpot=100us";
  const auto plan = plan_serve(q);
  ASSERT_TRUE(plan) << plan.error().line();
  ASSERT_FALSE(plan->best);
  ASSERT_TRUE(plan->nearest);
  EXPECT_NE(plan->nearest->limit, Limit::none);
  EXPECT_THAT(plan->nearest->in_the_way, HasSubstr(" requests/s are the most it takes"));
  EXPECT_THAT(plan->nearest->in_the_way, HasSubstr("of requests that come alone TPOT "));
}

TEST(PlanFeatures, LayoutsThatDoNotSuitAreCounted) {
  const ServingPlan plan = planned([](PlanServeQuery& q) {
    q.layouts = {"1", "tp2", "pp2"};
    q.drafts.draft = 2, q.drafts.method = DraftMethod::ngram;
  });
  EXPECT_EQ(plan.unsuited, 1);  // pipelines do not speculate
  EXPECT_THAT(plan.does_not_suit, StartsWith("draft"));
}

}  // namespace
}  // namespace tilecast
