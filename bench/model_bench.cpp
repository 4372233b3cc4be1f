// A whole model's forecast: from its description to kernels (prepare), and from kernels to a step's time on a GPU.
#include <benchmark/benchmark.h>

#include "engine/run.h"
#include "estimate/shipped_weights.h"
#include "gpu/registry.h"
#include "model/library.h"

namespace tilecast {
namespace {

Run run_of_70b(Mode mode) {
  Run run{*find_model("Llama-3.1-70B"), {}, {}, {}};
  run.workload.mode = mode;
  if (mode == Mode::decode) run.workload.requests = {{32, 1, 4096}};
  else run.workload.requests = {{4, 2048, 0}};
  run.engine.kind = mode == Mode::train ? EngineKind::pytorch : EngineKind::vllm;
  run.engine.precision = *precision_from("bf16");
  return run;
}

// The whole step: operators, lowering, every kernel and its memory.
void model_step(benchmark::State& state, Mode mode) {
  const Run run = run_of_70b(mode);
  const Gpu gpu = *find_gpu("H100-SXM");
  const Weights& weights = shipped_weights();
  for (auto _ : state) {
    const auto prepared = prepare(run);
    benchmark::DoNotOptimize(forecast_run(run, *prepared, gpu, Method::tilecast, &weights)->step.total);
  }
}
BENCHMARK_CAPTURE(model_step, llama_70b_prefill, Mode::prefill)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(model_step, llama_70b_decode, Mode::decode)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(model_step, llama_70b_train, Mode::train)->Unit(benchmark::kMicrosecond);

// A bundled configuration to a model: what the shell adds once.
void model_by_name(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(find_model("Llama-3.1-70B"));
}
BENCHMARK(model_by_name)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tilecast
