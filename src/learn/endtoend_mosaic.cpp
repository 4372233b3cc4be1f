// MosaicML's training benchmarks of MPT models: llm-foundry over FSDP, 8 to 512 GPUs.
#include <fmt/format.h>

#include <array>
#include <optional>

#include "cluster/registry.h"
#include "gpu/registry.h"
#include "learn/endtoend.h"
#include "learn/endtoend_table.h"

namespace tilecast {
namespace {

// llm-foundry scripts/train/yamls/pretrain/mpt-*.yaml (commit 061f2c7); with biases on every product and norm, the
// parameter counts are those of the table to the last one.
struct MptSizes {
  std::string_view name;
  Count hidden, layers, heads;
};
constexpr std::array<MptSizes, 9> kMpt = {{{"125m", 768, 12, 12},
                                           {"350m", 1024, 24, 16},
                                           {"760m", 1536, 24, 12},
                                           {"1b", 2048, 24, 16},
                                           {"3b", 2560, 32, 20},
                                           {"7b", 4096, 32, 32},
                                           {"13b", 5120, 40, 40},
                                           {"30b", 7168, 48, 56},
                                           {"70b", 8192, 80, 64}}};

// Positions are a learned table as long as the sequence; one projection for queries, keys and values.
std::optional<ModelSpec> mpt(const std::string& name, Count length) {
  for (const MptSizes& sizes : kMpt) {
    if (name != "MPT-" + std::string(sizes.name)) continue;
    AttentionSpec attention;
    attention.heads = attention.kv_heads = sizes.heads;
    attention.head_dim = sizes.hidden / sizes.heads;
    attention.q_bias = attention.kv_bias = attention.out_bias = attention.fused_qkv = true;
    const MlpSpec feed_forward{
        .inter = 4 * sizes.hidden, .gated = false, .activation = ActivationKind::gelu, .bias = true};
    StackSpec stack;
    stack.hidden = sizes.hidden;
    stack.layers = {{{attention, {}, feed_forward}, sizes.layers}};
    stack.norm = NormKind::layer, stack.norm_bias = true;
    stack.positions = Positions::learned, stack.max_positions = length;
    ModelSpec spec;
    spec.name = name, spec.architecture = "MPTForCausalLM";
    spec.vocab = 50368, spec.tied_head = true;
    spec.decoder = std::move(stack);
    return spec;
  }
  return std::nullopt;
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
  if (!spec) return Error{row.place(), "model", "is no MPT that is known: '" + row["model"] + "'", ""};
  if (parameters(*spec) != static_cast<Count>(to_double(notes["params"]).value_or(0)))
    return Error{row.place(), "notes", "params is not what " + row["model"] + " has", ""};
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
  run.engine.fused_norms = true;  // torch.nn's LayerNorm and GELU
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
  spread.micro_batch = static_cast<Count>(to_double(notes["mbs"]).value_or(1));
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
