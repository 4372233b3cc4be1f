// The constants that are listed for a card are the ones its forecasts use.
#include <gtest/gtest.h>

#include <memory>

#include "constants/product.h"
#include "constants/registry.h"
#include "estimate/estimate.h"
#include "estimate/law_testing.h"
#include "estimate/physics.h"
#include "gpu/card_constants.h"
#include "kernel/pipeline.h"

namespace tilecast {
namespace {

// Analytic forecasts of every family's example in two types under every engine, in seconds.
std::vector<double> forecasts(const Gpu& gpu) {
  std::vector<double> times;
  for (const Family& family : families())
    for (const char* type : {"bf16", "fp8"})
      for (const char* engine : {"", "vllm", "sglang", "trtllm"}) {
        Context context;
        context.engine = Launcher::named(engine);
        if (context.engine == Launcher::trtllm) context.kernel_source = KernelSource::torch_flow;
        if (context.engine == Launcher::sglang) context.kernel_source = KernelSource::triton;
        const auto shape = shape_from(family.info.name, example_of(family).dims);
        const auto format = format_from(type);
        if (!shape || !format) continue;
        const auto planned = plan(Kernel{*shape, *format}, gpu, context);
        if (planned) times.push_back(in_seconds(estimate(*planned, gpu, context, Method::analytic).latency));
      }
  return times;
}

TEST(ConstantsUsed, WhatIsNotListedForACardDoesNotChangeItsForecasts) {
  for (const std::string_view name : kGpus) {
    Gpu gpu = *built_in_gpu(name);
    const std::vector<double> shipped = forecasts(gpu);
    TunedConstants others;
    for (const Tunable* constant : all_tunables())
      if (!holds_for(*constant, gpu)) others.set(*constant, constant->value * 1.5);
    gpu.constants = std::make_shared<const TunedConstants>(others);
    EXPECT_EQ(forecasts(gpu), shipped) << name;
  }
}

TEST(ConstantsUsed, WhatIsListedReachesThem) {
  for (const std::string_view name :
       {"pipeline.step_clocks", "pipeline.task_clocks", "pipeline.efficiency", "pipeline.feed",
        "physics.dram_efficiency", "physics.l2_efficiency", "physics.vector_efficiency", "physics.graph_floor",
        "physics.product_floor", "physics.follower_floor", "overlap.product", "overlap.other", "cache.usable"}) {
    Gpu gpu = *built_in_gpu("H100-SXM");
    const std::vector<double> shipped = forecasts(gpu);
    TunedConstants changed;
    for (const Tunable* constant : all_tunables())
      if (constant->name == name && holds_for(*constant, gpu)) changed.set(*constant, constant->value * 0.7);
    gpu.constants = std::make_shared<const TunedConstants>(changed);
    EXPECT_NE(forecasts(gpu), shipped) << name;
  }
}

// At the clock that latencies are normalised to, the values are the listed ones.
TEST(ConstantsUsed, ListedValuesAreThePipelines) {
  for (const Gpu& built_in : built_in_gpus()) {
    Gpu gpu = built_in;
    gpu.clock.max = megahertz(1000 * constants::kReferenceClock);
    const PipelineLatency latency = pipeline_latency(gpu);
    const Physics physics = default_physics(gpu);
    for (const Constant* c : constants_of(gpu)) {
      if (c->name == "pipeline.step_clocks") {
        EXPECT_DOUBLE_EQ(latency.step_clocks, c->value) << gpu.name;
      }
      if (c->name == "pipeline.task_clocks") {
        EXPECT_DOUBLE_EQ(latency.task_clocks, c->value) << gpu.name;
      }
      if (c->name == "pipeline.wave_share") {
        EXPECT_EQ(latency.wave_share, c->value) << gpu.name;
      }
      if (c->name == "pipeline.feed") {
        EXPECT_EQ(latency.feed, c->value) << gpu.name;
      }
      if (c->name == "physics.dram_efficiency") {
        EXPECT_EQ(physics.dram_efficiency, c->value) << gpu.name;
      }
      if (c->name == "pipeline.simt_efficiency") {
        EXPECT_EQ(physics.simt_efficiency, c->value) << gpu.name;
      }
    }
  }
}

TEST(ConstantsUsed, ListedEnergiesAreThePowerLaws) {
  for (const Gpu& gpu : built_in_gpus()) {
    double switching = 0, tensor = 0, share = 0, board = 0;
    for (const Constant* c : constants_of(gpu)) {
      if (c->name == "power.switching") switching = c->value;
      if (c->name == "power.tensor_operation") tensor = c->value;
      if (c->name == "power.idle_share") share = c->value;
      if (c->name == "power.idle_board") board = c->value;
    }
    const PowerLaw law = power_law(gpu);
    EXPECT_NEAR(law.tensor, switching * tensor * 1e-12, 1e-18) << gpu.name;
    EXPECT_NEAR(in_watts(law.idle), share * in_watts(gpu.power) + board, 1e-9) << gpu.name;
  }
}

}  // namespace
}  // namespace tilecast
