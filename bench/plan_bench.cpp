// Searching: every layout of a training of 405 billion parameters; deployments by load and by throughput.
#include <benchmark/benchmark.h>

#include "cluster/registry.h"
#include "estimate/shipped_weights.h"
#include "model/library.h"
#include "parallel/plan.h"
#include "tilecast/plan.h"

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

void plan_deployments(benchmark::State& state, const PlanServeQuery& query) {
  Count tried = 0;
  for (auto _ : state) tried = plan_serve(query)->tried;
  state.counters["deployments"] = static_cast<double>(tried);
}
PlanServeQuery on_b200(const char* model, ServingObjective objective) {
  PlanServeQuery query;
  query.model = model, query.objective = objective, query.gpus = {"16xB200"};
  if (objective == ServingObjective::load) query.slo = "ttft=2s,tpot=50ms";
  return query;
}
BENCHMARK_CAPTURE(plan_deployments, load_235b, on_b200("Qwen3-235B-A22B", ServingObjective::load))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(plan_deployments, throughput_671b, on_b200("DeepSeek-V3", ServingObjective::throughput))
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tilecast
