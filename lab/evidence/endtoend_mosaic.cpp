// MosaicML's training benchmarks of MPT models: llm-foundry over FSDP, 8 to 512 GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cluster/registry.h"
#include "lab/evidence/endtoend.h"
#include "lab/evidence/endtoend_columns.h"
#include "model/library.h"
#include "parallel/framework.h"

namespace tilecast {
namespace mosaic {
namespace {

constexpr std::array<std::string_view, 1> kFiles = {"e2e/train_mosaicml_llm_foundry.csv.gz"};
constexpr std::array<NameRule, 3> kGpus = {
    {{"a100_40gb", "A100-SXM-40GB"}, {"a100_80gb", "A100-SXM-80GB"}, {"h100_80gb", "H100-SXM"}}};
constexpr std::array<NameRule, 1> kModels = {{{"MPT-7b", "MPT-7B-Foundry"}}};
constexpr std::array<NameRule, 2> kFormats = {{{"amp_bf16", "bf16"}, {"amp_fp8", "fp8"}}};

// Trained as llm-foundry's configurations have it: with biases, and positions in a table as long as the sequence.
Result<ModelSpec> mpt(const TableRow& row, Count length) {
  auto name = row.model();
  if (!name) return std::move(name).error();
  auto spec = find_model(*name);
  if (spec && spec->decoder) spec->decoder->max_positions = length;
  return spec;
}

// Nodes of eight. The A100's reach each other at 1600 Gb/s by RoCE (the table's own headings); the H100's are not
// stated: 3200 Gb/s, as in HGX nodes. For other cards, the built-in nodes.
Result<Cluster> cluster_of(const Gpu& gpu, Count gpus) {
  const bool a100 = gpu.name.starts_with("A100-SXM");
  const Cluster* known = built_in_cluster_of(a100 ? "A100-SXM-80GB" : gpu.name);
  if (!known) return left_out_row("no cluster of " + gpu.name + " is known");
  Cluster cluster = *known;
  cluster.gpu = gpu;
  cluster.nodes = static_cast<int>(ceil_div(gpus, static_cast<Count>(cluster.gpus_per_node)));
  return cluster;
}

Result<EndToEndCase> case_of(const TableRow& row) {
  if (row["metric"] != "train_throughput")
    return left_out_row("another figure of the run: " + in_quotes(row["metric"]));
  auto notes = notes_of(row["notes"]);
  const Count gpus = row.count("num_gpus"), length = row.count("seqlen"), batch = row.count("batch_or_concurrency");
  const auto gpu = row.gpu();
  if (!gpu) return gpu.error();
  auto spec = mpt(row, length);
  if (!spec) return std::move(spec).error();
  const auto format = row.format();
  if (!format) return format.error();
  if (parameters(*spec) != count_in(notes["params"]))
    return left_out_row("params is not what " + in_quotes(row["model"]) + " has");
  if (gpus < 1 || gpus > 100'000 || batch < 1)
    return left_out_row("num_gpus and batch_or_concurrency must be one or more, GPUs at most 100000");
  auto cluster = cluster_of(*gpu, gpus);
  if (!cluster) return std::move(cluster).error();
  const bool recomputed = notes["act_ckpt"] == "True";
  auto precision = precision_from(format->name);
  if (!precision) return std::move(precision).error();
  // Precision "amp": parameters are gathered in fp32 and cast by autocast; "pure": cast before they are gathered.
  // Gradients travel in bf16 either way (Composer 0.13, trainer/dist_strategy.py).
  const bool pure = notes["mp_mode"] == "PURE";
  precision->mixed = pure ? MixedPrecision::master : MixedPrecision::autocast;

  Run run{*std::move(spec), {.mode = Mode::train, .requests = {{batch, length, 0}}}, {}, {}};
  OverGpus spread;
  spread.layout.dp = static_cast<int>(gpus);
  run.engine.precision = *std::move(precision);
  const MixedPrecision mixed = run.engine.precision.mixed;
  apply(recipe_of(Framework::composer), run, spread.layout);
  run.engine.precision.mixed = mixed;
  if (recomputed) run.training.options.recompute = Recompute::full;

  EndToEndCase one;
  one.label = {"mosaic", cluster->gpu.name, "pytorch", row["model"], "train", "", batch, length};
  one.label.detail =
      fmt::format("{} GPUs, {}{}{}", gpus, format->name, pure ? ", pure" : "", recomputed ? ", recomputed" : "");
  spread.layout.sharding = row["dp_ep"] == "SHARD_GRAD_OP" ? Sharding::gradients : Sharding::parameters;
  spread.cluster = *std::move(cluster);
  spread.micro_batch = std::max<Count>(1, count_in(notes["mbs"]));
  one.spread = std::move(spread);
  Figure throughput{"throughput", row.number("value"), {{0, 1, Part::step}}};
  throughput.tokens = static_cast<double>(batch) * static_cast<double>(length);
  one.figures.push_back(std::move(throughput));
  one.must_fit = 0;
  one.runs.push_back(std::move(run));
  return one;
}

}  // namespace
}  // namespace mosaic

constexpr SourceMapping kMosaicSource{.name = "mosaic",
                                      .from = "github.com/mosaicml/llm-foundry, scripts/train/benchmarking",
                                      .licence = "Apache-2.0",
                                      .files = mosaic::kFiles,
                                      .columns = kWholeModelColumns,
                                      .gpus = mosaic::kGpus,
                                      .models = mosaic::kModels,
                                      .formats = mosaic::kFormats,
                                      .protocol = {"tokens a second of MPT models under Composer's FSDP, 2023"}};

Result<EndToEndCases> mosaic_cases(const std::string& path) {
  return read_cases<EndToEndCase>(kMosaicSource, path, mosaic::case_of);
}

}  // namespace tilecast
