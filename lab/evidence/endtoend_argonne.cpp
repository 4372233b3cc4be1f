// Argonne's LLM-Inference-Bench: a static batch of equal prompts, each answered by as many tokens as it has.
#include <array>
#include <optional>

#include "cluster/registry.h"
#include "lab/evidence/endtoend.h"
#include "lab/evidence/endtoend_columns.h"
#include "lab/evidence/static_batch.h"
#include "model/library.h"

namespace tilecast {
namespace argonne {
namespace {

constexpr std::array<std::string_view, 1> kFiles = {"e2e/argonne_llm_inference_bench.csv.gz"};
// Its A100 behaves as the 40 GB card (README of the data: throughput collapses where the cache outgrows that).
constexpr std::array<NameRule, 1> kGpus = {{{"Nvidia A100 GPU", "A100-SXM-40GB"}}};
constexpr std::array<std::string_view, 3> kAroundGpu = {"Nvidia ", "AMD ", " GPU"};
constexpr std::array<NameRule, 2> kFormats = {{{"fp16/bf16", "bf16"}, {"fp16", "bf16"}}};  // equally fast
constexpr std::array<NameRule, 2> kEngines = {{{"vLLM", "vllm"}, {"TensorRT-LLM", "trtllm"}}};

// Engines of 2024 sent a step's inputs to every rank and waited for them all. The middle of what the A100's rows over
// two and four GPUs take beyond the forecast, both engines, batches of 1 to 64; the H100's judge it.
const Seconds kRanksPerStep = milliseconds(0.8);

// An all-reduce of RCCL in a HIP graph, beyond what the forecast says from data sheets: least error over the MI300X
// rows of Llama-2-7B, Llama-3-70B and Mixtral on two GPUs, and on four and eight; the other models' judge it.
const Seconds kRcclPair = microseconds(10), kRcclMore = microseconds(35);

Seconds rccl_per_step(Count layers, Count gpus) {
  constexpr double kReductionsPerLayer = 2;
  return (gpus > 2 ? kRcclMore : kRcclPair) * (kReductionsPerLayer * static_cast<double>(layers));
}

// Four cards per node, fully connected (its A100 nodes are Polaris', NVLink without a switch); for other cards, the
// built-in node.
Result<std::optional<OverGpus>> spread_of(const Gpu& gpu, Count gpus) {
  if (gpus == 1) return std::optional<OverGpus>();
  const bool a100 = gpu.name == "A100-SXM-40GB", h100 = gpu.name == "H100-SXM";
  OverGpus spread;
  spread.layout.tp = static_cast<int>(gpus);
  spread.per_step = kRanksPerStep;
  if (a100 || h100) {
    spread.cluster = *find_cluster(a100 ? "HGX-A100-4" : "HGX-H100-4");
  } else {
    const Cluster* cluster = built_in_cluster_of(gpu.name);
    if (!cluster) return left_out_row("several GPUs, and no cluster of " + gpu.name + " is known");
    spread.cluster = *cluster;
  }
  spread.cluster.gpu = gpu;
  return std::optional(std::move(spread));
}

// The prompt's pass yields the first token; each other token is a decode step.
Result<EndToEndCase> case_of(const TableRow& row) {
  if (row["metric"] != "e2e_latency") return left_out_row("another figure of the run: " + in_quotes(row["metric"]));
  const auto of = row.names();
  if (!of) return of.error();
  const Gpu& gpu = of->gpu;
  const auto engine_name = engine_name_of(kArgonneSource, row["engine"]);
  if (!engine_name) return engine_name.error();
  const EngineKind engine = *engine_from(*engine_name);
  const Count batch = row.count("batch_or_concurrency"), prompt = row.count("isl"), answer = row.count("osl");
  const Count gpus = row.count("num_gpus");
  if (batch < 1 || prompt < 1 || answer < 1 || gpus < 1 || gpus > 1000) return left_out_row("sizes not said");
  EndToEndCase one;
  auto spread = spread_of(gpu, gpus);
  if (!spread) return std::move(spread).error();
  one.spread = *std::move(spread);
  const auto spec = find_model(of->model);
  if (one.spread && gpu.architecture == Architecture::cdna3 && spec && spec->decoder)
    one.spread->per_step += rccl_per_step(spec->decoder->layer_count(), gpus);
  const std::string detail = of->format.id == FormatId::bf16 ? "16-bit" : std::string(of->format.name);
  one.label = {"argonne", gpu.name, *engine_name, row["model"], "generate", detail, batch, prompt};
  if (one.spread) one.label.detail += ", " + text_of(one.spread->layout);
  Figure total{"total", row.number("value"), {}};
  // vLLM takes the checkpoint's type, and AMD's attention of 2024 was far slower in bf16 than in fp16.
  const bool half = gpu.vendor == Vendor::amd && of->format.id == FormatId::bf16 && spec && spec->dtype == "fp16";
  const auto run_of_2024 = [&](Workload workload) {
    auto run = run_of(of->model, engine, half ? "fp16" : std::string(of->format.name), std::move(workload));
    if (run) run->engine.era = EngineEra::year_2024;
    return run;
  };
  if (auto added = add_static_batch(one, total, {batch, prompt, answer}, run_of_2024); !added)
    return std::move(added).error();
  one.must_fit = one.runs.size() - 1;  // the longest context
  one.figures.push_back(std::move(total));
  return one;
}

}  // namespace
}  // namespace argonne

constexpr SourceMapping kArgonneSource{
    .name = "argonne",
    .from = "github.com/argonne-lcf/LLM-Inference-Bench",
    .licence = "BSD-3-Clause",
    .files = argonne::kFiles,
    .columns = kWholeModelColumns,
    .gpus = argonne::kGpus,
    .formats = argonne::kFormats,
    .engines = argonne::kEngines,
    .around_gpu = argonne::kAroundGpu,
    .protocol = {"a static batch of equal prompts, each answered by as many tokens as it has; the time of the whole"}};

Result<EndToEndCases> argonne_cases(const std::string& path) {
  return read_cases<EndToEndCase>(kArgonneSource, path, argonne::case_of);
}

}  // namespace tilecast
