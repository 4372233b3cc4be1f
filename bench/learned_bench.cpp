// The learned method: one kernel with its interval, and batches of kernels (medians), with the shipped weights.
#include <benchmark/benchmark.h>

#include "estimate/learned.h"
#include "estimate/physics.h"
#include "estimate/shipped_weights.h"
#include "gpu/registry.h"
#include "kernel/gemm.h"
#include "kernel/kernel.h"

namespace tilecast {
namespace {

// Products of a spread of sizes, none the same.
std::vector<Kernel> products(std::size_t count) {
  const Format bf16 = *format_from("bf16");
  std::vector<Kernel> kernels;
  for (std::size_t i = 0; i < count; ++i) {
    const auto step = static_cast<Count>(i);
    kernels.push_back({Gemm{1 + step * 37 % 8192, 512 + step * 64 % 16384, 512 + step * 192 % 12288}, bf16});
  }
  return kernels;
}

// One kernel with everything that is learned of it: median, interval and ceiling.
void learned_one(benchmark::State& state, std::string_view gpu_name) {
  const Gpu gpu = *find_gpu(gpu_name);
  const auto kernels = products(64);
  const FamilyModel* model = shipped_weights().find(kernels.front());
  const Context context;
  std::size_t i = 0;
  for (auto _ : state) {
    const Kernel& kernel = kernels[i++ % kernels.size()];
    const auto planned = plan(kernel, gpu, context);
    const Estimate analytic = estimate(*planned, gpu, context, Method::analytic);
    benchmark::DoNotOptimize(corrected(analytic, *model, kernel, *planned, gpu, context).latency);
  }
}
BENCHMARK_CAPTURE(learned_one, a100_seen, "A100-SXM-80GB")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(learned_one, h100_seen, "H100-SXM")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(learned_one, l4_unseen, "L4")->Unit(benchmark::kMicrosecond);

// As `forecast_times` does it.
void learned_batch(benchmark::State& state, std::string_view gpu_name) {
  const Gpu gpu = *find_gpu(gpu_name);
  const auto kernels = products(4096);
  const FamilyModel* model = shipped_weights().find(kernels.front());
  const Context context;
  std::vector<LearnedInput> inputs(kernels.size());
  std::vector<Seconds> times(kernels.size());
  for (auto _ : state) {
    const Standing standing = standing_of(*model, context, gpu);
    const Physics physics = default_physics(gpu);
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const auto planned = plan(kernels[i], gpu, context);
      const Estimate analytic = estimate(*planned, gpu, context, Method::analytic, physics);
      inputs[i] = learned_input(kernels[i], *planned, analytic, gpu, context);
    }
    learned_times(inputs, standing, times);
    benchmark::DoNotOptimize(times.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kernels.size()));
}
BENCHMARK_CAPTURE(learned_batch, a100_seen, "A100-SXM-80GB")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(learned_batch, h100_seen, "H100-SXM")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(learned_batch, l4_unseen, "L4")->Unit(benchmark::kMillisecond);

// Unpacking the shipped weights; a command pays it once.
void read_shipped(benchmark::State& state) {
  const std::string bytes = to_bytes(shipped_weights());
  for (auto _ : state) benchmark::DoNotOptimize(weights_from_bytes(bytes, "w")->models.size());
}
BENCHMARK(read_shipped)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tilecast
