// Serving simulations: requests of 1024 and 256 tokens through vLLM's scheduler, step times filled on demand.
#include <benchmark/benchmark.h>

#include <cmath>

#include "estimate/shipped_weights.h"
#include "gpu/registry.h"
#include "model/library.h"
#include "serve/deployment.h"
#include "serve/metrics.h"
#include "support/random.h"

namespace tilecast {
namespace {

DeploymentOptions llama_on_h100() {
  DeploymentOptions options;
  options.model = *find_model("Llama-3.1-8B");
  options.gpu = *find_gpu("H100-SXM");
  options.engine.precision = *precision_from("bf16");
  return options;
}

// Requests of 1,024 tokens, each answered by 256.
WorkloadOptions ten_thousand(double rate) {
  WorkloadOptions workload;
  workload.requests = 10000;
  workload.rate = rate;
  workload.input.mean = 1024, workload.output.mean = 256;
  return workload;
}

void serve_10k(benchmark::State& state) {
  const DeploymentOptions options = llama_on_h100();
  const auto requests = generate(ten_thousand(16));
  const Weights& weights = shipped_weights();
  for (auto _ : state) {
    const auto deployment = deploy(options, Method::tilecast, &weights);
    SimulationOptions simulation;
    simulation.pool = deployment->pool;
    benchmark::DoNotOptimize(metrics_of(*simulate(*requests, simulation)).output_throughput);
  }
}
BENCHMARK(serve_10k)->Unit(benchmark::kMillisecond);

// The same with all that a fleet has: four replicas that an autoscaler starts and stops behind a router that knows
// prefixes, which the cache loses to the host's memory and a disk.
void serve_10k_fleet(benchmark::State& state) {
  DeploymentOptions options = llama_on_h100();
  options.offload = {gigabytes(64), gigabytes(500), {}, {}, false};
  WorkloadOptions workload = ten_thousand(48);
  workload.prefixes = 2000, workload.prefix_tokens = 512;
  const auto requests = generate(workload);
  const Weights& weights = shipped_weights();
  for (auto _ : state) {
    const auto deployment = deploy(options, Method::tilecast, &weights);
    SimulationOptions simulation;
    simulation.pool = deployment->pool;
    simulation.router = Router::prefix_aware;
    simulation.autoscale.emplace();
    simulation.autoscale->most = 4, simulation.autoscale->target = 64;
    simulation.autoscale->interval = seconds(15), simulation.autoscale->cool_down = seconds(300);
    simulation.autoscale->start_up = seconds(30);
    benchmark::DoNotOptimize(metrics_of(*simulate(*requests, simulation)).output_throughput);
  }
}
BENCHMARK(serve_10k_fleet)->Unit(benchmark::kMillisecond);

// A million requests through one replica: memory does not grow with steps or tokens.
void serve_million(benchmark::State& state) {
  const DeploymentOptions options = llama_on_h100();
  WorkloadOptions workload;
  workload.requests = 1'000'000;
  workload.rate = 16;
  workload.input.mean = 1024, workload.output.mean = 256;
  const auto requests = generate(workload);
  for (auto _ : state) {
    const auto deployment = deploy(options, Method::tilecast, &shipped_weights());
    SimulationOptions simulation;
    simulation.pool = deployment->pool;
    benchmark::DoNotOptimize(metrics_of(*simulate(*requests, simulation)).output_throughput);
  }
}
BENCHMARK(serve_million)->Unit(benchmark::kSecond)->Iterations(1);

// A day of a million requests over 64 replicas, most of them at noon.
void serve_day(benchmark::State& state) {
  const DeploymentOptions options = llama_on_h100();
  WorkloadOptions workload;
  workload.requests = 1'000'000;
  workload.input.mean = 1024, workload.output.mean = 256;
  auto requests = generate(workload);
  Random random(1);
  double at = 0;
  for (Request& r : *requests) {
    constexpr double kDay = 86400, kTurn = 6.283185307179586;
    const double rate = 1e6 / kDay * (1 - 0.9 * std::cos(kTurn * at / kDay));
    at += random.exponential() / rate;
    r.arrival = seconds(at);
  }
  for (auto _ : state) {
    const auto deployment = deploy(options, Method::tilecast, &shipped_weights());
    SimulationOptions simulation;
    simulation.pool = deployment->pool;
    simulation.pool.replicas = 64;
    simulation.router = Router::least_loaded;
    benchmark::DoNotOptimize(metrics_of(*simulate(*requests, simulation)).output_throughput);
  }
}
BENCHMARK(serve_day)->Unit(benchmark::kSecond)->Iterations(1);

}  // namespace
}  // namespace tilecast
