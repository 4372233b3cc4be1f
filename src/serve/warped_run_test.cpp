#include "serve/warped_run.h"

#include <gtest/gtest.h>

#include "estimate/shipped_weights.h"
#include "gpu/registry.h"
#include "model/library.h"
#include "serve/deployment.h"

namespace tilecast {
namespace {

struct Closed {
  Deployment deployment;
  SimulationOptions simulation;
  std::vector<Request> requests;
  Closed(EngineKind engine, Count concurrency) {
    DeploymentOptions options;
    options.model = *find_model("Llama-3.2-1B");
    options.gpu = *find_gpu("H100-SXM");
    options.engine.kind = engine;
    options.engine.precision = *precision_from("bf16");
    deployment = *deploy(options, Method::tilecast, &shipped_models());
    simulation.pool = deployment.pool;
    simulation.concurrency = concurrency, simulation.keep_gaps = false;
    WorkloadOptions w;
    w.requests = 4 * concurrency, w.input.mean = 512, w.output.mean = 128;
    w.output.kind = LengthDistribution::Kind::uniform, w.output.spread = 0.5;
    requests = *generate(w);
  }
};

// Beside simulations of the very steps, for engines whose hosts set the pace and others.
TEST(WarpedRun, IsAsSimulated) {
  for (const EngineKind engine : {EngineKind::vllm, EngineKind::sglang, EngineKind::trtllm})
    for (const Count concurrency : {8, 256}) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(engine) << " " << concurrency);
      const Closed run(engine, concurrency);
      const auto outcome = simulate(run.requests, run.simulation);
      const StepWidths widths{{0.9, 1.2}, {0.8, 1.3}};
      for (const bool slow : {false, true}) {
        const auto quick = warped(*outcome, run.simulation, widths, slow);
        ASSERT_TRUE(quick);
        const ServingMetrics a = metrics_of(*quick);
        const ServingMetrics b = metrics_of(*simulate_scaled(run.requests, run.simulation, widths, slow));
        EXPECT_NEAR(a.output_throughput / b.output_throughput, 1, 0.03);
        EXPECT_NEAR(a.tpot.mean / b.tpot.mean, 1, 0.04);
        EXPECT_NEAR(a.e2el.mean / b.e2el.mean, 1, 0.03);
        EXPECT_NEAR(a.energy->joules / b.energy->joules, 1, 0.02);
      }
      // Steps as they are change nothing.
      const ServingMetrics same = metrics_of(*warped(*outcome, run.simulation, {}, true)), was = metrics_of(*outcome);
      EXPECT_NEAR(same.ttft.p90 / was.ttft.p90, 1, 1e-6);
      EXPECT_NEAR(same.duration / was.duration, 1, 1e-9);
    }
}

// Several replicas, prompts apart: the more slowly the slower, by what both pools' steps say.
TEST(WarpedRun, OfSeveralReplicasAsSimulated) {
  Closed run(EngineKind::vllm, 256);
  run.simulation.pool.replicas = 2;
  run.simulation.prefill = run.simulation.pool;
  run.simulation.link = {gigabytes_per_second(400), microseconds(10)};
  const auto outcome = simulate(run.requests, run.simulation);
  const StepWidths widths{{0.95, 1.15}, {0.9, 1.2}};
  for (const bool slow : {false, true}) {
    const auto quick = warped(*outcome, run.simulation, widths, slow);
    ASSERT_TRUE(quick);
    const ServingMetrics a = metrics_of(*quick);
    const ServingMetrics b = metrics_of(*simulate_scaled(run.requests, run.simulation, widths, slow));
    EXPECT_NEAR(a.output_throughput / b.output_throughput, 1, 0.05);
    EXPECT_NEAR(a.tpot.mean / b.tpot.mean, 1, 0.05);
    EXPECT_NEAR(a.e2el.mean / b.e2el.mean, 1, 0.05);
  }
}

// Clients who send as they like do not wait for slower steps, and gaps are not warped.
TEST(WarpedRun, OnlyWhereClientsWait) {
  Closed run(EngineKind::vllm, 8);
  EXPECT_TRUE(warped(*simulate(run.requests, run.simulation), run.simulation, {}, true));
  run.simulation.keep_gaps = true;
  EXPECT_FALSE(warped(*simulate(run.requests, run.simulation), run.simulation, {}, true));
  run.simulation.keep_gaps = false, run.simulation.concurrency = 0;
  EXPECT_FALSE(warped(*simulate(run.requests, run.simulation), run.simulation, {}, true));
  run.simulation.concurrency = 8, run.simulation.pool.host.overlapped = false;
  EXPECT_FALSE(warped(*simulate(run.requests, run.simulation), run.simulation, {}, true)) << "other steps";
}

}  // namespace
}  // namespace tilecast
