// A serving simulation: 10,000 requests of 1024 and 256 tokens through vLLM's scheduler, step times filled on demand.
#include <benchmark/benchmark.h>

#include "estimate/shipped_weights.h"
#include "gpu/registry.h"
#include "model/library.h"
#include "serve/deployment.h"
#include "serve/metrics.h"

namespace tilecast {
namespace {

// Target: at most one second.
void serve_10k(benchmark::State& state) {
  DeploymentOptions options;
  options.model = *find_model("Llama-3.1-8B");
  options.gpu = *find_gpu("H100-SXM");
  options.engine.precision = *precision_from("bf16");
  WorkloadOptions workload;
  workload.requests = 10000;
  workload.rate = 16;
  workload.input.mean = 1024, workload.output.mean = 256;
  const auto requests = generate(workload);
  const Weights& weights = shipped_weights();
  for (auto _ : state) {
    const auto deployment = deploy(options, Method::tilecast, &weights);
    SimulationOptions simulation;
    simulation.pool = deployment->pool;
    benchmark::DoNotOptimize(metrics_of(*simulate(*requests, simulation)).output_throughput);
  }
}
BENCHMARK(serve_10k)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tilecast
