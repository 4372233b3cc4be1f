// Whole forecasts: plan, schedule, bound and forecast of one kernel on one GPU.
#include <benchmark/benchmark.h>

#include "estimate/estimate.h"
#include "gpu/registry.h"
#include "kernel/kernel.h"

namespace tilecast {
namespace {

Shape shape_of(std::string_view family, std::string_view dims) { return *shape_from(family, *dims_from_text(dims)); }

void estimate_one(benchmark::State& state, std::string_view family, std::string_view dims) {
  const Gpu gpu = *find_gpu("H100-SXM");
  const Kernel kernel{shape_of(family, dims), *format_from("bf16")};
  const Context context;
  for (auto _ : state) {
    const auto planned = plan(kernel, gpu, context);
    benchmark::DoNotOptimize(estimate(*planned, gpu, context, Method::analytic).latency);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(estimate_one, gemm, "gemm", "m=4096;n=4096;k=4096");
BENCHMARK_CAPTURE(estimate_one, gemm_decode, "gemm", "m=8;n=28672;k=8192");
BENCHMARK_CAPTURE(estimate_one, elementwise, "elementwise", "elements=16777216");
BENCHMARK_CAPTURE(estimate_one, moe, "moe", "tokens=4096;hidden=7168;inter=2048;experts=256;topk=8");

// Causal attention over 16k tokens: FlashAttention 3 on Hopper, FlashAttention 2 on Ampere.
void attention_schedule(benchmark::State& state, std::string_view gpu_name) {
  const Gpu gpu = *find_gpu(gpu_name);
  const Kernel kernel{shape_of("attention_prefill", "batch=1;q-len=16384;heads=64;kv-heads=8"), *format_from("bf16")};
  const Context context;
  for (auto _ : state) {
    const auto planned = plan(kernel, gpu, context);
    for (const Launch& launch : planned->launches) benchmark::DoNotOptimize(schedule(launch, gpu).tasks_busiest);
  }
}
BENCHMARK_CAPTURE(attention_schedule, causal_16k_h100, "H100-SXM")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(attention_schedule, causal_16k_a100, "A100-SXM-80GB")->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tilecast
