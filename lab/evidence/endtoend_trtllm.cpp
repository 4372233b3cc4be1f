// TensorRT-LLM's performance overview: static batches of gptSessionBenchmark, and the first token of one request.
#include <algorithm>
#include <array>

#include "cluster/registry.h"
#include "lab/evidence/endtoend.h"
#include "lab/evidence/endtoend_columns.h"
#include "lab/evidence/static_batch.h"

namespace tilecast {
namespace trtllm {
namespace {

constexpr std::array<std::string_view, 1> kFiles = {"e2e/trtllm_perf_overview.csv.gz"};
constexpr std::array<NameRule, 1> kGpus = {{{"H200 141GB HBM3", "H200-SXM"}}};
constexpr std::array<NameRule, 6> kModels = {{{"GPT-J 6B", "GPT-J-6B"},
                                              {"LLaMA 7B", "Llama-2-7B"},
                                              {"LLaMA 70B", "Llama-2-70B"},
                                              {"Falcon 180B", "Falcon-180B"},
                                              {"Mistral 7B", "Mistral-7B-v0.1"},
                                              {"Mixtral 8x7B", "Mixtral-8x7B"}}};
// Weights and activations in fp8 with fixed scales, keys and values too (docs/source/performance.md of 0.5).
constexpr std::array<NameRule, 2> kFormats = {{{"FP8", "fp8_static"}, {"FP16", "fp16"}}};

struct RunAsked {
  Gpu gpu;
  std::string model, format;
  bool fp8() const { return format == "fp8_static"; }
};
Result<RunAsked> run_asked(const TableRow& row) {
  if (row["metric"] != "ttft" && !row["notes"].starts_with("static batch"))
    return left_out_row("neither a static batch nor the first token of one request");
  if (row.number("value") <= 0) return left_out_row("no figure");
  const auto of = row.names();
  if (!of) return of.error();
  return RunAsked{of->gpu, of->model, std::string(of->format.name)};
}

// gptSessionBenchmark is C++ around one engine: no server looks at each request between two steps, as in Argonne's
// runs, whose host cost the older era has.
Result<Run> run_of_row(const RunAsked& what, Workload workload) {
  auto run = run_of(what.model, EngineKind::trtllm, what.format, std::move(workload));
  if (run && what.fp8()) run->engine.precision.cache = CacheType::fp8;
  return run;
}

Result<EndToEndCase> case_of(const TableRow& row) {
  const auto what = run_asked(row);
  if (!what) return what.error();
  EndToEndCase one;
  const Count batch = row.count("batch_or_concurrency"), prompt = row.count("isl"), answer = row.count("osl");
  const auto gpus = static_cast<int>(std::clamp<Count>(row.count("num_gpus"), 1, 1000));
  if (batch < 1 || prompt < 1) return left_out_row("sizes not said");
  one.label = {"trtllm",    what->gpu.name, "trtllm",
               what->model, "generate",     what->fp8() ? std::string("fp8") : what->format,
               batch,       prompt};
  if (gpus > 1) {
    const Cluster* cluster = built_in_cluster_of(what->gpu.name);
    if (!cluster) return left_out_row("several GPUs, and no cluster of " + what->gpu.name + " is known");
    one.spread = OverGpus{{}, *cluster, 0};
    one.spread->layout.tp = gpus;
    one.label.detail += ", " + text_of(one.spread->layout);
  }
  const bool first = row["metric"] == "ttft";
  const double rate = row.number("value") * (row["metric"] == "output_throughput_per_gpu" ? gpus : 1);
  Figure figure{first ? "first token" : "total",
                first ? row.number("value") * 1e-3 : static_cast<double>(batch) * static_cast<double>(answer) / rate,
                {}};
  const auto run = [&](Workload workload) { return run_of_row(*what, std::move(workload)); };
  if (auto added = add_static_batch(one, figure, {batch, prompt, first ? 1 : answer}, run); !added)
    return std::move(added).error();
  one.figures.push_back(std::move(figure));
  return one;
}

}  // namespace
}  // namespace trtllm

constexpr SourceMapping kTrtllmSource{
    .name = "trtllm",
    .from = "github.com/NVIDIA/TensorRT-LLM, performance overview of releases 0.5 to 0.9",
    .licence = "Apache-2.0",
    .files = trtllm::kFiles,
    .columns = kWholeModelColumns,
    .gpus = trtllm::kGpus,
    .models = trtllm::kModels,
    .formats = trtllm::kFormats,
    .protocol = {"gptSessionBenchmark: static batches, and the first token of one request; tuned by the vendor"}};

Result<EndToEndCases> trtllm_cases(const std::string& path) {
  return read_cases<EndToEndCase>(kTrtllmSource, path, trtllm::case_of);
}

}  // namespace tilecast
