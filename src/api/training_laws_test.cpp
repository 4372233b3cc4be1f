// Laws of trainings over many GPUs, on the path that users get: public queries, the learned method, clusters from
// files.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "support/test_files.h"
#include "test_paths.h"
#include "tilecast/plan.h"
#include "tilecast/step.h"

namespace tilecast {
namespace {

constexpr double kRounding = 1 + 1e-9;

struct Asked {
  const char* model;
  int tp, pp, dp, ep;
  Framework framework;
};
// Over two nodes of eight: tensor and data parallel ranks, a pipeline, experts, sharded weights.
constexpr std::array<Asked, 4> kTrainings = {{{"Llama-3.1-8B", 4, 1, 4, 1, Framework::bridge},
                                              {"Llama-3.1-8B", 2, 4, 2, 1, Framework::nanotron},
                                              {"Llama-3.1-8B", 1, 1, 16, 1, Framework::torchtitan},
                                              {"Qwen3-30B-A3B", 1, 2, 8, 8, Framework::megatron}}};

StepQuery query_of(const Asked& asked, const std::string& cluster) {
  StepQuery q{.model = asked.model, .cluster = cluster, .mode = Mode::train, .seq = 2048};
  q.framework = asked.framework;
  q.layout.tp = asked.tp, q.layout.pp = asked.pp, q.layout.dp = asked.dp, q.layout.ep = asked.ep;
  q.global_batch = 64, q.micro_batch = 1;
  return q;
}

StepForecast answer(const StepQuery& query) {
  auto step = forecast(query);
  EXPECT_TRUE(step) << (step ? "" : step.error().line());
  return step ? *std::move(step) : StepForecast{};
}
Seconds time_of(const StepQuery& query) { return answer(query).time; }

// Two nodes of H100s, described by hand.
class TrainingLaws : public testing::Test {
 protected:
  std::string nodes(double within, double between, double latency_us = 2.7) {
    return folder_.plain(
        fmt::format("{}.json", ++files_),
        fmt::format(R"({{"like": "HGX-H100-8", "name": "ours", "nodes": 2, "intra": {{"kind": "nvlink-switch",
    "gb_per_s": {}, "latency_us": 0.5, "nvls": true}}, "inter": {{"kind": "infiniband", "gb_per_s": {}, "latency_us": {},
    "rails": 8}}}})",
                    within, between, latency_us));
  }

 private:
  TestFolder folder_;
  int files_ = 0;
};

TEST_F(TrainingLaws, MoreBandwidthIsNeverSlower) {
  for (const Asked& asked : kTrainings) {
    Seconds last = time_of(query_of(asked, nodes(100, 5)));
    for (const auto& [within, between] : {std::pair(100, 20), {100, 50}, {225, 50}, {450, 50}, {450, 400}}) {
      const Seconds now = time_of(query_of(asked, nodes(within, between)));
      EXPECT_LE(now, last * kRounding) << asked.model << " tp " << asked.tp << ": " << within << ", " << between;
      last = now;
    }
  }
}

TEST_F(TrainingLaws, FewerBytesAreNeverSlower) {
  for (const Asked& asked : kTrainings) {
    StepQuery wide = query_of(asked, nodes(450, 10)), narrow = wide;
    wide.wide_gradients = true, narrow.wide_gradients = false;
    EXPECT_LE(time_of(narrow), time_of(wide) * kRounding) << asked.model << " tp " << asked.tp;
    // Half of every sequence: half of what ranks and stages hand on.
    StepQuery shorter = wide;
    shorter.seq = 1024;
    EXPECT_LE(time_of(shorter), time_of(wide) * kRounding) << asked.model << " tp " << asked.tp;
  }
}

// Every further module: no more memory, no less time. All of them keep more than whole layers do, which keep their
// input alone, and take no longer: projections into and out of attention are part of none.
TEST_F(TrainingLaws, RecomputingMoreTakesNoMoreMemoryAndNoLessTime) {
  for (const Asked& asked : kTrainings) {
    StepQuery q = query_of(asked, nodes(450, 50));
    q.recompute = Recompute::none;
    const auto memory = [](const StepForecast& f) { return f.memory.need.activations; };
    StepForecast last = answer(q);
    q.recompute = {};
    const bool experts = asked.ep > 1;
    for (const char* module : {"core_attn", "layernorm", experts ? "moe_act" : "mlp", experts ? "moe" : ""}) {
      if (!*module) continue;
      q.recompute_modules.emplace_back(module);
      const StepForecast now = answer(q);
      EXPECT_LE(memory(now), memory(last) * kRounding) << asked.model << ", " << module;
      EXPECT_GE(now.time * kRounding, last.time) << asked.model << ", " << module;
      last = now;
    }
    q.recompute_modules.clear(), q.recompute = Recompute::full;
    const StepForecast full = answer(q);
    EXPECT_LE(memory(full), memory(last) * kRounding) << asked.model;
    EXPECT_GE(full.time * kRounding, last.time) << asked.model;
    q.recompute = {}, q.recompute_every = 1;
    EXPECT_NEAR(answer(q).time / full.time, 1, 1e-9) << asked.model;
  }
}

TEST_F(TrainingLaws, MoreOverlapIsNeverSlower) {
  for (const Asked& asked : kTrainings)
    for (const double between : {5.0, 50.0}) {
      StepQuery q = query_of(asked, nodes(450, between));
      q.given.overlap = true;
      q.layout.overlap = q.layout.gather_overlap = false;
      const Seconds apart = time_of(q);
      q.layout.overlap = q.layout.gather_overlap = true;
      EXPECT_LE(time_of(q), apart * kRounding) << asked.model << " tp " << asked.tp;
      if (asked.tp == 1) continue;
      q.given.tensor_overlap = true;
      Seconds last;
      for (const TensorOverlap overlap :
           {TensorOverlap::none, TensorOverlap::inputs, TensorOverlap::backward, TensorOverlap::pipelined}) {
        q.layout.tensor_overlap = overlap;
        const Seconds now = time_of(q);
        EXPECT_TRUE(last == seconds(0) || now <= last * kRounding) << asked.model << " " << name_of(overlap);
        last = now;
      }
    }
}

// Two replicas joined by a free network train on twice the sequences in the time of one; what is left are the starts of
// the calls that exchange gradients and weights once a step.
TEST_F(TrainingLaws, AFreeFabricIsNoExchange) {
  StepQuery alone = query_of({"Llama-3.1-8B", 8, 1, 1, 1, Framework::megatron}, nodes(450, 1e6, 0.01));
  alone.global_batch = 16;
  StepQuery joined = alone;
  joined.layout.dp = 2, joined.global_batch = 32;
  const StepForecast one = answer(alone), two = answer(joined);
  EXPECT_GE(two.time * kRounding, one.time);
  EXPECT_LE(two.time, one.time * 1.001);
  // ... which a real one does not.
  StepQuery real = joined;
  real.cluster = nodes(450, 5);
  EXPECT_GT(time_of(real), two.time * 1.05);
}

// A graph with given shapes is one rank's share: ranks add an exchange of its gradients, and share its optimizer.
TEST_F(TrainingLaws, GraphsAreRepeatedByDataParallelRanks) {
  StepQuery alone;
  alone.model = TILECAST_SOURCE_DIR "/examples/graphs/flux1-schnell-256.json", alone.mode = Mode::train;
  alone.engine = EngineKind::cudagraph, alone.mixed = MixedPrecision::master;
  StepQuery many = alone;
  alone.gpu = "H100-SXM";
  many.cluster = nodes(450, 50), many.layout.dp = 16;
  const StepForecast one = answer(alone), whole = answer(many);
  ASSERT_TRUE(whole.many);
  EXPECT_GT(whole.time, one.time);  // every rank updates everything, after an all-reduce of two bytes a parameter
  ASSERT_EQ(whole.many->exchanges.size(), 1u);
  EXPECT_EQ(in_bytes(whole.many->exchanges.front().size), 2.0 * 11'891'178'560);
  EXPECT_NEAR((whole.time - whole.many->exposed) / one.time, 1, 1e-3);
  many.layout.sharding = Sharding::optimizer;
  const StepForecast shared = answer(many);
  EXPECT_LT(shared.many->optimizer, whole.many->optimizer * 0.1);
  EXPECT_LT(shared.memory.need.optimizer.base(), whole.memory.need.optimizer.base() / 15);
  EXPECT_FALSE(chrome_trace(std::array{shared}));  // no tasks to tell apart
  EXPECT_FALSE(chakra_traces(shared));
  many.global_batch = 64;
  EXPECT_EQ(forecast(many).error().field, "global-batch");  // the file has its own
  many.global_batch.reset();
  many.layout.tp = 2, many.layout.dp = 8;
  const auto refused = forecast(many);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field, "tp");
}

TEST_F(TrainingLaws, GoodputIsAtMostOneAndFallsWithFailures) {
  PlanTrainQuery q;
  q.model = "Llama-3.2-1B", q.gpus = "16xH100-SXM", q.global_batch = 64, q.seq = 2048, q.tokens = 1e12, q.top = 1;
  double goodput = 1, days = 0;
  for (const double hours : {1e7, 1e5, 1e3, 100.0, 30.0}) {
    q.gpu_mtbf = hours;
    const auto plan = plan_train(q);
    ASSERT_TRUE(plan) << plan.error().line();
    EXPECT_GT(plan->whole.goodput, 0);
    EXPECT_LT(plan->whole.goodput, goodput) << hours;
    EXPECT_GT(plan->whole.days, days) << hours;
    goodput = plan->whole.goodput, days = plan->whole.days;
  }
}

}  // namespace
}  // namespace tilecast
