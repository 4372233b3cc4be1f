// An engine's steps one after the other, as a simulator of its own asks for them; and a batch through the C interface.
#include <benchmark/benchmark.h>

#include <vector>

#include "tilecast/abi.h"
#include "tilecast/step_predictor.h"

namespace tilecast {
namespace {

// Contexts of 256 answers grow by a token a step, as they do. Warm: the walk was taken once before.
void predicted_step(benchmark::State& state, std::size_t prompts) {
  const auto steps = StepPredictor::make({.model = "Llama-3.1-8B", .gpu = "H100-SXM"});
  constexpr Count kWalk = 512;
  const std::vector<StepPredictor::Prompt> chunks(prompts, {256, 0});
  std::vector<Count> begin(256);
  for (std::size_t i = 0; i < begin.size(); ++i) begin[i] = 200 + static_cast<Count>(i * 37 % 1800);
  std::vector<Count> decodes = begin;
  Count walked = 0;
  const auto next = [&] {
    if (++walked % kWalk == 0) decodes = begin;
    for (Count& one : decodes) ++one;
    return *steps->time(chunks, decodes);
  };
  for (Count i = 0; i < kWalk; ++i) next();
  for (auto _ : state) benchmark::DoNotOptimize(next());
}
BENCHMARK_CAPTURE(predicted_step, decode_256, 0)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(predicted_step, mixed_256, 2)->Unit(benchmark::kMicrosecond);

// The same rows as through forecast_times() of C++, on one thread.
void batch(benchmark::State& state, bool of_c) {
  constexpr std::size_t kRows = 1 << 17;
  std::vector<Count> m(kRows), n(kRows), k(kRows);
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto step = static_cast<Count>(i);
    m[i] = 1 + step * 37 % 8192, n[i] = 512 + step * 64 % 16384, k[i] = 512 + step * 192 % 12288;
  }
  const std::vector<DimColumn> columns = {{"m", m}, {"n", n}, {"k", k}};
  const tilecast_column plain[] = {{"m", m.data()}, {"n", n.data()}, {"k", k.data()}};
  std::vector<Seconds> times(kRows);
  std::vector<double> seconds(kRows);
  KernelQuery common;
  common.family = "gemm", common.gpu = "H100-SXM";
  for (auto _ : state) {
    if (of_c) tilecast_kernel_times(R"({"family": "gemm", "gpu": "H100-SXM"})", plain, 3, kRows, 1, seconds.data(), nullptr);
    else if (!forecast_times(common, columns, times)) state.SkipWithError("refused");
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRows));
}
BENCHMARK_CAPTURE(batch, in_cpp, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(batch, in_c, true)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tilecast
