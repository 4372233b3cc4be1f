// MosaicML's training benchmarks of MPT models: llm-foundry over FSDP, 8 to 512 GPUs.
#include <fmt/format.h>

#include <algorithm>

#include "cluster/registry.h"
#include "gpu/registry.h"
#include "lab/evidence/endtoend.h"
#include "lab/evidence/endtoend_table.h"
#include "model/library.h"

namespace tilecast {
namespace {

// Trained as llm-foundry's configurations have it: with biases, and positions in a table as long as the sequence.
Result<ModelSpec> mpt(const std::string& name, Count length) {
  auto spec = find_model(name == "MPT-7b" ? "MPT-7B-Foundry" : name);
  if (spec && spec->decoder) spec->decoder->max_positions = length;
  return spec;
}

// Nodes of eight. The A100's reach each other at 1600 Gb/s by RoCE (the table's own headings); nothing is said of the
// H100's: 3200 Gb/s, as HGX nodes have.
Result<Cluster> cluster_of(const std::string& gpu, Count gpus) {
  const bool hopper = gpu.starts_with("h100");
  auto cluster = find_cluster(hopper ? "hgx-h100" : "hgx-a100");
  if (!cluster) return cluster;
  if (gpu == "a100_40gb") {
    auto card = find_gpu("A100-SXM-40GB");
    if (!card) return std::move(card).error();
    cluster->gpu = *std::move(card);
  }
  cluster->nodes = static_cast<int>(ceil_div(gpus, static_cast<Count>(cluster->gpus_per_node)));
  return cluster;
}

Result<EndToEndCase> case_of(const TableRow& row) {
  auto notes = notes_of(row["notes"]);
  const Count gpus = row.count("num_gpus"), length = row.count("seqlen"), batch = row.count("batch_or_concurrency");
  auto spec = mpt(row["model"], length);
  if (!spec) return std::move(spec).error().at(row.place());
  if (parameters(*spec) != count_in(notes["params"]))
    return Error{row.place(), "notes", "params is not what " + row["model"] + " has", ""};
  if (gpus < 1 || gpus > 100'000 || batch < 1)
    return Error{row.place(), "num_gpus", "and batch_or_concurrency must be one or more, GPUs at most 100000", ""};
  auto cluster = cluster_of(row["gpu"], gpus);
  if (!cluster) return std::move(cluster).error();
  const bool fp8 = row["precision"] == "amp_fp8", recomputed = notes["act_ckpt"] == "True";
  auto precision = precision_from(fp8 ? "fp8" : "bf16");
  if (!precision) return std::move(precision).error();
  // Precision "amp": parameters are gathered in fp32 and cast by autocast; "pure": cast before they are gathered.
  // Gradients travel in bf16 either way (Composer 0.13, trainer/dist_strategy.py).
  const bool pure = notes["mp_mode"] == "PURE";
  precision->mixed = pure ? MixedPrecision::master : MixedPrecision::autocast;

  Run run{*std::move(spec), {.mode = Mode::train, .requests = {{batch, length, 0}}}, {}, {}};
  run.engine.kind = EngineKind::pytorch, run.engine.precision = *std::move(precision);
  run.engine.era = EngineEra::year_2023;
  run.engine.narrow_norms = true;     // low_precision_layernorm
  run.engine.fused_norms = true;      // torch.nn's LayerNorm and GELU
  run.engine.loss = LossForm::fused;  // flash-attn's, llm-foundry's default
  run.training.narrow_exchange = true;
  if (recomputed) run.training.options.recompute = Recompute::full;

  EndToEndCase one;
  one.label = {"mosaic", cluster->gpu.name, "pytorch", row["model"], "train", "", batch, length};
  one.label.detail = fmt::format("{} GPUs, {}{}{}", gpus, fp8 ? "fp8" : "bf16", pure ? ", pure" : "",
                                 recomputed ? ", recomputed" : "");
  OverGpus spread;
  spread.layout.dp = static_cast<int>(gpus);
  spread.layout.sharding = row["dp_ep"] == "SHARD_GRAD_OP" ? Sharding::gradients : Sharding::parameters;
  spread.cluster = *std::move(cluster);
  spread.micro_batch = std::max<Count>(1, count_in(notes["mbs"]));
  one.spread = std::move(spread);
  Figure throughput{"throughput", row.number("value"), {{0, 1, Part::step}}};
  throughput.tokens = static_cast<double>(batch * length);
  one.figures.push_back(std::move(throughput));
  one.must_fit = 0;
  one.runs.push_back(std::move(run));
  return one;
}

}  // namespace

Result<std::vector<EndToEndCase>> mosaic_cases(const std::string& path) {
  const auto rows = read_table(path, {"gpu", "num_gpus", "dp_ep", "model", "precision", "batch_or_concurrency",
                                      "seqlen", "metric", "value", "notes"});
  if (!rows) return rows.error();
  std::vector<EndToEndCase> cases;
  for (const TableRow& row : *rows) {
    if (row["metric"] != "train_throughput") continue;
    auto one = case_of(row);
    if (!one) return std::move(one).error();
    cases.push_back(*std::move(one));
  }
  return cases;
}

}  // namespace tilecast
