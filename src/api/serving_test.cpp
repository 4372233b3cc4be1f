// A served workload through the public API.
#include "tilecast/serving.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "api/serving_text.h"
#include "support/test_files.h"

namespace tilecast {
namespace {

SimulateQuery small() {
  SimulateQuery query;
  query.model = "Llama-3.2-1B", query.gpu = "H100-SXM";
  query.load.rate = 20, query.load.input = "lognormal:300:0.8", query.load.output = "uniform:40:0.5";
  query.num_prompts = 50;
  query.no_interval = true;
  return query;
}

TEST(ServingApi, EveryRequestAndTokenIsAccountedFor) {
  const auto result = simulate(small());
  ASSERT_TRUE(result) << result.error().line();
  ASSERT_EQ(result->loads.size(), 1u);
  const SimulatedLoad& load = result->loads.front();
  EXPECT_EQ(load.metrics.completed + load.metrics.refused, 50);
  EXPECT_EQ(load.metrics.refused, 0);
  ASSERT_EQ(load.outcome.requests.size(), 50u);
  Count input = 0, output = 0;
  for (const RequestRecord& r : load.outcome.requests) {
    input += r.input, output += r.output;
    EXPECT_LE(r.sent, r.scheduled);
    EXPECT_LT(r.scheduled, r.first);
    EXPECT_LE(r.first, r.last);
  }
  EXPECT_EQ(load.metrics.input_tokens, input);
  EXPECT_EQ(load.metrics.output_tokens, output);
  // Every token of a prompt is computed in a step or found in the cache.
  Count computed = 0, hits = 0;
  for (const StepRecord& s : load.outcome.steps) computed += s.prompt_tokens;
  for (const RequestRecord& r : load.outcome.requests) hits += r.hits;
  EXPECT_EQ(computed + hits, input);
  EXPECT_EQ(load.metrics.steps, static_cast<Count>(load.outcome.steps.size()));
  EXPECT_EQ(load.outcome.unfinished, 0);
  EXPECT_EQ(load.outcome.blocks_left, 0);
}

TEST(ServingApi, SaysWhatItServedOn) {
  SimulateQuery query = small();
  query.engine = ServingEngine::sglang, query.tp = 2, query.dp = 2, query.chunk = 1024;
  const auto result = simulate(query);
  ASSERT_TRUE(result) << result.error().line();
  EXPECT_EQ(result->model, "Llama-3.2-1B");
  EXPECT_EQ(result->gpu, "H100-SXM");
  EXPECT_EQ(result->policy, "sglang");
  EXPECT_EQ(result->layout, "tp 2");
  EXPECT_EQ(result->replicas, 2);
  EXPECT_EQ(result->step_tokens, 1024);
  const ServingMemory& m = result->memory;
  EXPECT_LT(m.usable, m.visible);
  EXPECT_GT(m.cache, bytes(0));
  EXPECT_LE(m.weights + m.activations + m.other + m.cache, m.visible);
}

TEST(ServingApi, TheSeedDecides) {
  SimulateQuery query = small();
  const auto a = simulate(query), b = simulate(query);
  query.load.seed = 1;
  const auto other = simulate(query);
  ASSERT_TRUE(a && b && other);
  EXPECT_EQ(a->loads[0].metrics.ttft.mean, b->loads[0].metrics.ttft.mean);
  EXPECT_EQ(a->loads[0].metrics.input_tokens, b->loads[0].metrics.input_tokens);
  EXPECT_NE(a->loads[0].metrics.input_tokens, other->loads[0].metrics.input_tokens);
}

TEST(ServingApi, IntervalsLieAroundTheForecast) {
  SimulateQuery query = small();
  query.no_interval = false;
  const auto result = simulate(query);
  ASSERT_TRUE(result) << result.error().line();
  const SimulatedLoad& load = result->loads.front();
  ASSERT_TRUE(load.fast && load.slow);
  EXPECT_LT(load.fast->tpot.mean, load.metrics.tpot.mean);
  EXPECT_GT(load.slow->tpot.mean, load.metrics.tpot.mean);
}

TEST(ServingApi, SweepsKeepFiguresAndTellProgress) {
  SimulateQuery query = small();
  query.load.rate.reset(), query.sweep = "concurrency=1..4*2", query.num_prompts = 12;
  query.slo = "ttft=10s";
  std::vector<double> heard;
  const auto result = simulate(query, [&](double share) { heard.push_back(share); });
  ASSERT_TRUE(result) << result.error().line();
  ASSERT_EQ(result->loads.size(), 3u);
  EXPECT_EQ(result->loads[1].name, "concurrency 2");
  EXPECT_EQ(result->loads[1].value, 2);
  for (const SimulatedLoad& load : result->loads) {
    EXPECT_EQ(load.metrics.completed, 12);
    EXPECT_TRUE(load.outcome.requests.empty());
    ASSERT_TRUE(load.metrics.goodput);
    EXPECT_DOUBLE_EQ(*load.metrics.goodput, load.metrics.request_throughput);
  }
  EXPECT_LT(result->loads[0].metrics.output_throughput, result->loads[2].metrics.output_throughput);
  for (const double share : heard) EXPECT_TRUE(share >= 0 && share <= 1) << share;
  EXPECT_TRUE(std::is_sorted(heard.begin(), heard.end()));
}

TEST(ServingApi, PromptsInPoolsOfTheirOwn) {
  SimulateQuery query = small();
  query.prefill_replicas = 1, query.prefill_tp = 2;
  const auto result = simulate(query);
  ASSERT_TRUE(result) << result.error().line();
  EXPECT_EQ(result->prefill_replicas, 1);
  EXPECT_EQ(result->loads.front().outcome.replicas, 2);
  for (const StepRecord& s : result->loads.front().outcome.steps)
    EXPECT_EQ(s.replica == 1, s.prompt_tokens > 0);  // the second computes prompts, the first answers
}

TEST(ServingApi, TracesTakeTheLoadsPlace) {
  const TestFolder folder;
  SimulateQuery query = small();
  query.load = {}, query.num_prompts = SimulateQuery{}.num_prompts;
  query.trace = folder.plain("trace.csv", "arrival,input,output\n1,100,5\n0,70,3\n");
  const auto result = simulate(query);
  ASSERT_TRUE(result) << result.error().line();
  EXPECT_EQ(result->loads.front().name, "trace");
  EXPECT_EQ(result->loads.front().metrics.input_tokens, 170);
  EXPECT_EQ(result->loads.front().metrics.output_tokens, 8);
  ASSERT_FALSE(result->notes.empty());
  EXPECT_NE(result->notes.front().find("sorted"), std::string::npos);
}

TEST(ServingApi, ErrorsNameTheField) {
  const auto refused = [](const std::string& field, const auto& change) {
    SimulateQuery query = small();
    change(query);
    const auto result = simulate(query);
    ASSERT_FALSE(result) << field;
    EXPECT_EQ(result.error().field, field) << result.error().line();
    EXPECT_EQ(result.error().line().find("--"), std::string::npos) << result.error().line();
  };
  refused("model", [](SimulateQuery& q) { q.model = ""; });
  refused("tp", [](SimulateQuery& q) { q.tp = 0; });
  refused("tp", [](SimulateQuery& q) { q.tp = q.pp = 1024; });
  refused("dp", [](SimulateQuery& q) { q.dp = 5000; });
  refused("dtype", [](SimulateQuery& q) { q.dtype = "fp7"; });
  refused("rate", [](SimulateQuery& q) { q.load.rate = 0; });
  refused("rate", [](SimulateQuery& q) { q.load.rate = std::numeric_limits<double>::quiet_NaN(); });
  refused("input", [](SimulateQuery& q) { q.load.input = "0"; });
  refused("output", [](SimulateQuery& q) { q.load.output = "many"; });
  refused("prefixes", [](SimulateQuery& q) { q.load.prefixes = 3; });
  refused("num-prompts", [](SimulateQuery& q) { q.num_prompts = 0; });
  refused("burstiness", [](SimulateQuery& q) { q.burstiness = 0; });
  refused("concurrency", [](SimulateQuery& q) { q.concurrency = 0; });
  refused("gpu-memory-utilization", [](SimulateQuery& q) { q.memory_fraction = 1.5; });
  refused("gpu-memory-utilization", [](SimulateQuery& q) { q.memory_fraction = 0; });
  refused("block-size", [](SimulateQuery& q) { q.block_tokens = 100000; });
  refused("policy", [](SimulateQuery& q) { q.policy = ServingPolicy::max_utilization; });
  refused("acceptance", [](SimulateQuery& q) { q.drafts.acceptance = 2; });
  refused("prefill-tp", [](SimulateQuery& q) { q.prefill_tp = 2; });
  refused("link", [](SimulateQuery& q) { q.link_gb_per_s = 0; });
  refused("slo", [](SimulateQuery& q) { q.slo = "speed=1"; });
  refused("slo", [](SimulateQuery& q) { q.slo = "ttft=1s,tpot=30ms,ttft=2s"; });
  refused("sweep", [](SimulateQuery& q) { q.sweep = "speed=1..2"; });
  refused("rate", [](SimulateQuery& q) { q.trace = "x.csv"; });
  refused("method", [](SimulateQuery& q) { q.method = Method::neusight; });
  refused("gpu", [](SimulateQuery& q) { q.gpu = "A100-SXM-80GB", q.cluster = "hgx-h100"; });
}

TEST(ServingApi, SaysInWhichStepsAWiderFormatIsFaster) {
  SimulateQuery query = small();
  query.model = "Llama-3.1-8B", query.gpu = "A100-SXM-80GB", query.dtype = "int4_wo", query.load.input = "2048";
  const auto says = [](const SimulationResult& result) {
    return std::any_of(result.notes.begin(), result.notes.end(), [](const std::string& note) {
      return note.find("a prompt of 2048 tokens: int4_wo is forecast slower than bf16") != std::string::npos;
    });
  };
  const auto narrow = simulate(query);
  ASSERT_TRUE(narrow) << narrow.error().line();
  EXPECT_TRUE(says(*narrow));
  query.dtype = "bf16";
  const auto wide = simulate(query);
  ASSERT_TRUE(wide) << wide.error().line();
  EXPECT_FALSE(says(*wide));
}

TEST(ServingApi, SaysWherePromptsFillAStep) {
  SimulateQuery query = small();
  query.engine = ServingEngine::trtllm;
  query.load.rate.reset(), query.load.input = "8190", query.load.output = "4", query.num_prompts = 20;
  const auto says = [](const SimulationResult& result) {
    return std::any_of(result.notes.begin(), result.notes.end(), [](const std::string& note) {
      return note.find("starts only in steps with 2 answers at most") != std::string::npos;
    });
  };
  const auto full = simulate(query);
  ASSERT_TRUE(full) << full.error().line();
  EXPECT_TRUE(says(*full));
  // Half a step is left for answers: all of the requests fit.
  query.max_tokens = 16384;
  const auto wide = simulate(query);
  ASSERT_TRUE(wide) << wide.error().line();
  EXPECT_FALSE(says(*wide));
  EXPECT_LT(wide->loads[0].metrics.duration, full->loads[0].metrics.duration);
}

TEST(ServingApi, NobodyServedIsAnError) {
  SimulateQuery query = small();
  query.load.input = "200000", query.num_prompts = 2;
  const auto result = simulate(query);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().problem.find("none of 2 requests can be served"), std::string::npos);
}

TEST(ServingApi, ArgumentsRoundTrip) {
  SimulateQuery query = small(), copy;
  query.policy = ServingPolicy::fixed_batches, query.router = Router::least_loaded, query.kv_dtype = KvDtype::fp8;
  query.memory_fraction = 0.85, query.no_overlap = true, query.context_limit = 4096, query.prefill_replicas = 2;
  const auto from = arguments_of(query), to = arguments_of(copy);
  ASSERT_EQ(from.size(), to.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    EXPECT_FALSE(from[i].about.help.empty()) << from[i].about.name;
    const std::string text = from[i].get();
    if (text.empty()) continue;
    ASSERT_TRUE(to[i].set(text)) << from[i].about.name;
    EXPECT_EQ(to[i].get(), text) << from[i].about.name;
  }
  EXPECT_EQ(copy.policy, ServingPolicy::fixed_batches);
  EXPECT_EQ(copy.router, Router::least_loaded);
  EXPECT_EQ(copy.kv_dtype, KvDtype::fp8);
  EXPECT_EQ(copy.memory_fraction, 0.85);
  EXPECT_EQ(copy.load.rate, 20);
  EXPECT_TRUE(copy.no_overlap);
  EXPECT_FALSE(copy.max_tokens);
}

TEST(ServingApi, ArgumentsRefuseWhatLiesOutside) {
  SimulateQuery query;
  for (const BoundArgument& argument : arguments_of(query)) {
    const bool counted = argument.about.kind == ArgumentKind::count || argument.about.kind == ArgumentKind::number;
    if (counted)
      for (const char* bad : {"-1", "1e300", "nan", "inf", "x"}) {
        const auto fine = argument.set(bad);
        ASSERT_FALSE(fine) << argument.about.name << " " << bad;
        EXPECT_EQ(fine.error().field, argument.about.name);
      }
    if (argument.about.kind == ArgumentKind::choice) {
      EXPECT_FALSE(argument.set("none-such")) << argument.about.name;
    }
  }
}

TEST(ServingText, Sweeps) {
  EXPECT_EQ(sweep_from("rate=1..32*2")->values, (std::vector<double>{1, 2, 4, 8, 16, 32}));
  EXPECT_EQ(sweep_from("concurrency=3,5")->values, (std::vector<double>{3, 5}));
  EXPECT_EQ(sweep_from("rate=1..5:1.5")->values, (std::vector<double>{1, 2.5, 4}));
  EXPECT_EQ(sweep_from("concurrency=1..4x2")->values, (std::vector<double>{1, 2, 4}));
  // What used to double and would count elsewhere.
  EXPECT_EQ(sweep_from("rate=1..32").error().line(),
            "sweep: 'rate=1..32' does not say its steps (rate=1..32*2 doubles, rate=1..32:1 counts)");
  for (const char* bad : {"", "rate", "rate=", "rate=0..4", "rate=4..1", "speed=1..2", "rate=1..x", "rate=1e-9..1e9",
                          "concurrency=0.2", "concurrency=0..4", "concurrency=1e12", "rate=nan..2"})
    EXPECT_FALSE(sweep_from(bad)) << bad;
}

TEST(ServingText, Objectives) {
  const auto slo = slo_from("ttft=500ms,tpot=0.03s");
  ASSERT_TRUE(slo);
  EXPECT_DOUBLE_EQ(slo->ttft->base(), 0.5);
  EXPECT_DOUBLE_EQ(slo->tpot->base(), 0.03);
  EXPECT_FALSE(slo->e2el);
  for (const char* bad : {"ttft", "ttft=", "ttft=-1ms", "x=1ms", "ttft=1m"}) EXPECT_FALSE(slo_from(bad)) << bad;
  EXPECT_EQ(slo_from("ttft=500").error().line(), "slo: 'ttft=500' has no unit (ttft=500ms or ttft=500s)");
}

}  // namespace
}  // namespace tilecast
