// Searching: every layout of a training of 405 billion parameters, and ten thousand requests through an engine.
#include <benchmark/benchmark.h>

#include "cluster/registry.h"
#include "estimate/shipped_weights.h"
#include "gpu/registry.h"
#include "model/library.h"
#include "parallel/plan.h"
#include "serve/deployment.h"
#include "serve/simulator.h"

namespace tilecast {
namespace {

// Target: 1,000 layouts in 2 s.
void plan_405b(benchmark::State& state) {
  TrainingQuery query{{*find_model("Llama-3.1-405B"), {}, {}, {}}, *cluster_of("512xH100-SXM"), 512};
  query.run.workload.mode = Mode::train;
  query.run.workload.requests = {{512, 8192, 0}};
  query.run.engine.kind = EngineKind::cudagraph;
  query.run.engine.precision = *precision_from("bf16");
  query.run.engine.precision.mixed = MixedPrecision::master;
  const StepPricing with{Method::tilecast, &shipped_models(), &shipped_comm_constants()};
  Count tried = 0;
  for (auto _ : state) tried = plan_training(query, with)->tried;
  state.counters["layouts"] = static_cast<double>(tried);
}
BENCHMARK(plan_405b)->Unit(benchmark::kMillisecond);

// Target: 1 s. The table of step times fills in the first run and is thrown away with the deployment.
void simulate_10k_requests(benchmark::State& state) {
  DeploymentOptions options;
  options.model = *find_model("Llama-3.1-8B");
  options.engine.kind = EngineKind::vllm;
  options.engine.precision = *precision_from("bf16");
  options.gpu = *find_gpu("H100-SXM");
  WorkloadOptions load;
  load.requests = 10000, load.rate = 20;
  load.input.mean = 1024, load.output.mean = 256;
  for (auto _ : state) {
    const auto deployment = deploy(options, Method::tilecast, &shipped_models());
    SimulationOptions simulation;
    simulation.pool = deployment->pool;
    benchmark::DoNotOptimize(simulate(*generate(load), simulation)->end);
  }
}
BENCHMARK(simulate_10k_requests)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tilecast
