// Searching: every layout of a training of 405 billion parameters.
#include <benchmark/benchmark.h>

#include "cluster/registry.h"
#include "estimate/shipped_weights.h"
#include "model/library.h"
#include "parallel/plan.h"

namespace tilecast {
namespace {

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

}  // namespace
}  // namespace tilecast
