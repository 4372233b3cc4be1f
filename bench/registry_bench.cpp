// Reading GPU descriptions. Every command pays for the registry once.
#include <benchmark/benchmark.h>

#include "gpu/embedded_gpus.h"
#include "gpu/gpu_file.h"
#include "gpu/registry.h"

namespace tilecast {
namespace {

void parse_all_built_in(benchmark::State& state) {
  for (auto _ : state)
    for (const EmbeddedFile& file : embedded_gpu_files())
      benchmark::DoNotOptimize(parse_gpu(file.text, std::string(file.name), built_in_gpu_text));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(embedded_gpu_files().size()));
}
BENCHMARK(parse_all_built_in)->Unit(benchmark::kMillisecond);

void find_gpu_by_name(benchmark::State& state) {
  benchmark::DoNotOptimize(built_in_gpus().size());
  for (auto _ : state) benchmark::DoNotOptimize(find_gpu("h100 sxm"));
}
BENCHMARK(find_gpu_by_name);

}  // namespace
}  // namespace tilecast
