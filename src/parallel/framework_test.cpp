// Frameworks' recipes: defaults that a run takes over, stages dealt out by cost, and what recipes change in a forecast.
#include "parallel/framework.h"

#include <gtest/gtest.h>

#include "cluster/registry.h"
#include "model/library.h"
#include "parallel/forecast.h"

namespace tilecast {
namespace {

Run train(const char* model, Count batch, Count length) {
  Run run{*find_model(model), {.mode = Mode::train, .requests = {{batch, length, 0}}}, {}, {}};
  run.engine.kind = EngineKind::cudagraph, run.engine.precision = *precision_from("bf16");
  run.engine.precision.mixed = MixedPrecision::master;
  return run;
}

ParallelForecast forecast_of(const ParallelRun& run, const Cluster& cluster) {
  auto forecast = forecast_parallel(run, cluster, {Method::analytic, nullptr, &shipped_comm_constants()});
  EXPECT_TRUE(forecast) << text_of(run.layout) << ": " << forecast.error().line();
  return *std::move(forecast);
}

TEST(Frameworks, EachHasARecipeOfItsOwnWithItsSource) {
  for (std::size_t i = 0; i < kFrameworkNames.size(); ++i) {
    const FrameworkRecipe& r = recipe_of(static_cast<Framework>(i));
    EXPECT_EQ(static_cast<std::size_t>(r.framework), i);
    EXPECT_FALSE(r.release.empty()) << kFrameworkNames[i];
    EXPECT_FALSE(r.page.empty()) << kFrameworkNames[i];
  }
}

TEST(Frameworks, SetARunsDefaults) {
  Run run = train("Llama-3.1-8B", 8, 2048);
  RankLayout layout;
  layout.tp = 2, layout.dp = 4;
  apply(recipe_of(Framework::torchtitan), run, layout);
  EXPECT_EQ(layout.sharding, Sharding::parameters);
  EXPECT_TRUE(layout.sequence_parallel);
  EXPECT_EQ(run.training.options.recompute, Recompute::alternate);
  EXPECT_TRUE(run.training.wide_gradients);
  // Nothing is shared out among one rank.
  layout = {};
  apply(recipe_of(Framework::torchtitan), run, layout);
  EXPECT_EQ(layout.sharding, Sharding::none);
  EXPECT_FALSE(layout.sequence_parallel);
}

// A layer of Llama 3.2 1B's width has a quarter of a head over 131,072 tokens: twenty parts in all.
TEST(Frameworks, StagesByCostCountTheHead) {
  ModelSpec spec = *find_model("Llama-3.2-1B");
  spec.vocab = 131072;
  auto& layer = spec.decoder->layers.front().layer;
  std::get<AttentionSpec>(layer.mixer).kv_heads = 32;
  EXPECT_EQ(layers_by_cost(spec, 1), std::vector<int>{16});
  EXPECT_EQ(layers_by_cost(spec, 2), (std::vector<int>{11, 5}));
  EXPECT_EQ(layers_by_cost(spec, 4), (std::vector<int>{6, 5, 5, 0}));
}

TEST(Overlap, MoreIsNeverSlower) {
  Cluster cluster = *find_cluster("HGX-H100-8");
  cluster.nodes = 2;
  ParallelRun run{train("Llama-3.1-8B", 16, 2048), {}, 1};
  run.layout.tp = 4, run.layout.dp = 4, run.layout.sharding = Sharding::optimizer;
  for (const bool pieces : {false, true}) {
    run.layout.sequence_parallel = pieces;
    double before = 0;
    for (const TensorOverlap overlap :
         {TensorOverlap::none, TensorOverlap::inputs, TensorOverlap::backward, TensorOverlap::pipelined}) {
      run.layout.tensor_overlap = overlap;
      const double step = forecast_of(run, cluster).step.base();
      if (before > 0) EXPECT_LE(step, before * (1 + 1e-12)) << name_of(overlap);
      before = step;
    }
    run.layout.tensor_overlap = TensorOverlap::inputs;
    run.layout.gather_overlap = false;
    const double after = forecast_of(run, cluster).step.base();
    run.layout.gather_overlap = true;
    EXPECT_LE(forecast_of(run, cluster).step.base(), after * (1 + 1e-12));
  }
}

TEST(GradientSums, InTheProductTakeNoKernel) {
  ParallelRun run{train("Llama-3.1-8B", 32, 512), {}, 1};
  run.layout.dp = 4;
  const Cluster cluster = *find_cluster("HGX-H100-8");
  double steps[3];
  for (const GradientSum sum : {GradientSum::apart, GradientSum::in_product, GradientSum::widened}) {
    run.run.training.options.gradient_sum = sum;
    steps[static_cast<std::size_t>(sum)] = forecast_of(run, cluster).step.base();
  }
  EXPECT_LT(steps[1], steps[0]);
  EXPECT_GT(steps[2], steps[0]);  // fp32 buffers are twice as wide
}

TEST(Recomputation, KeepsLessTheMoreItRepeats) {
  ParallelRun run{train("Llama-3.1-8B", 8, 4096), {}, 1};
  run.layout.dp = 8;
  run.run.engine.kind = EngineKind::pytorch;
  run.run.engine.eager_attention = true;  // whose scores fill the memory
  const Cluster cluster = *find_cluster("HGX-H100-8");
  std::array<double, kRecomputeNames.size()> memory{}, time{};
  for (std::size_t i = 0; i < memory.size(); ++i) {
    run.run.training.options.recompute = static_cast<Recompute>(i);
    const ParallelForecast f = forecast_of(run, cluster);
    memory[i] = f.stages[0].memory.activations.base(), time[i] = f.compute.base();
  }
  const auto at = [](Recompute r) { return static_cast<std::size_t>(r); };
  EXPECT_LT(memory[at(Recompute::selective)], memory[at(Recompute::none)] / 2);
  EXPECT_LT(memory[at(Recompute::full)], memory[at(Recompute::selective)]);
  EXPECT_LT(memory[at(Recompute::full)], memory[at(Recompute::alternate)]);
  EXPECT_LT(memory[at(Recompute::alternate)], memory[at(Recompute::none)]);
  EXPECT_LT(memory[at(Recompute::operators)], memory[at(Recompute::none)]);
  for (const Recompute r : {Recompute::selective, Recompute::operators, Recompute::alternate}) {
    EXPECT_GT(time[at(r)], time[at(Recompute::none)]) << name_of(r);
    EXPECT_LT(time[at(r)], time[at(Recompute::full)]) << name_of(r);
  }
}

TEST(Offloading, TradesMemoryForTime) {
  ParallelRun run{train("Llama-3.1-8B", 8, 4096), {}, 1};
  run.layout.dp = 8, run.layout.sharding = Sharding::optimizer;
  const Cluster cluster = *find_cluster("HGX-H100-8");
  const ParallelForecast none = forecast_of(run, cluster);
  run.run.training.offload = Offload::optimizer;
  const ParallelForecast optimizer = forecast_of(run, cluster);
  run.run.training.offload = Offload::activations;
  const ParallelForecast activations = forecast_of(run, cluster);
  EXPECT_EQ(optimizer.stages[0].memory.optimizer, bytes(0));
  EXPECT_GT(optimizer.optimizer, none.optimizer);
  EXPECT_LT(activations.stages[0].memory.activations, none.stages[0].memory.activations);
  EXPECT_GE(activations.step, none.step);
}

// Ulysses: what a rank sends of a layer is its tokens' queries, keys and values, and the result of as many heads.
TEST(ContextByHeads, SendsQueriesKeysAndValuesOnce) {
  ParallelRun run{train("Llama-3.1-8B", 2, 8192), {}, 1};
  run.layout.cp = 4, run.layout.context = ContextScheme::all_to_all;
  const ParallelForecast f = forecast_of(run, *find_cluster("HGX-H100-8"));
  double there = 0, back = 0;
  for (const Exchange& e : f.exchanges) {
    if (e.name == "heads") there = in_bytes(e.call.bytes);
    if (e.name == "attended heads") back = in_bytes(e.call.bytes);
  }
  const double tokens = 8192.0 / 4;
  EXPECT_EQ(there, tokens * (4096 + 2 * 1024) * 2);
  EXPECT_EQ(back, tokens * 4096 * 2);
  run.layout.cp = 3;
  EXPECT_FALSE(check(run.layout, *find_model("Llama-3.1-8B"), 8190));
}

TEST(Fabric, OfInfiniteBandwidthIsNoExchange) {
  Cluster cluster = *find_cluster("HGX-H100-8");
  cluster.nodes = 2;
  ParallelRun run{train("Llama-3.1-8B", 16, 2048), {}, 1};
  run.layout.tp = 2, run.layout.dp = 8, run.layout.sequence_parallel = true;
  const ParallelForecast before = forecast_of(run, cluster);
  cluster.intra.bandwidth = cluster.intra.bandwidth * 1e12, cluster.intra.latency = seconds(0);
  cluster.inter->bandwidth = cluster.inter->bandwidth * 1e12, cluster.inter->latency = seconds(0);
  const ParallelForecast after = forecast_of(run, cluster);
  EXPECT_LT(after.exposed(), before.exposed());
  EXPECT_NEAR((after.step - after.exposed()).base(), (before.step - before.exposed()).base(), 1e-9);
  // What is left of an exchange is the library's own launch and flags.
  for (const CollectiveForecast& one : after.exchange_times) EXPECT_LT(in_microseconds(one.latency), 200);
}

}  // namespace
}  // namespace tilecast
