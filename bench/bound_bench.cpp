// The bound alone: what a search over millions of shapes or GPUs calls.
#include <benchmark/benchmark.h>

#include <array>

#include "estimate/bound.h"
#include "estimate/residency.h"
#include "gpu/registry.h"
#include "kernel/gemm.h"

namespace tilecast {
namespace {

// Different shapes, so that nothing can be hoisted out of the loop.
constexpr std::array<GemmProblem, 4> kProblems = {
    {{1, 1, 4096, 4096}, {1, 128, 28672, 8192}, {1, 4096, 4096, 4096}, {1, 16384, 1024, 512}}};

void gemm_bound(benchmark::State& state) {
  const Gpu gpu = *find_gpu("H100-SXM");
  const Format format = *format_from("bf16");
  const MathPath math = *math_path(format, gpu);
  const Context context;
  const Load no_plan;
  std::size_t i = 0;
  for (auto _ : state) {
    const Launch launch = gemm_requirements(kProblems[i++ % kProblems.size()], format, math, true);
    benchmark::DoNotOptimize(largest(peak_times(launch, no_plan, least_traffic(launch, gpu, context), gpu)));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(gemm_bound);

}  // namespace
}  // namespace tilecast
