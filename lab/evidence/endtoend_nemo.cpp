// NVIDIA's own training tables (Megatron-Bridge, NeMo): tuned by the vendor, recomputation not stated.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "cluster/registry.h"
#include "lab/evidence/endtoend.h"
#include "lab/evidence/endtoend_columns.h"
#include "model/library.h"
#include "parallel/framework.h"

namespace tilecast {
namespace nemo {
namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

constexpr std::array<std::string_view, 1> kBridgeFiles = {"e2e/train_megatron_bridge.csv.gz"};
constexpr std::array<std::string_view, 1> kNemoFiles = {"e2e/train_nemo_megatron_readme.csv.gz"};
constexpr std::array<std::string_view, 1> kAroundGpu = {"DGX-"};
constexpr std::string_view kDrops = "routing drops tokens, and does less work than its name says";
constexpr std::string_view kPredicts = "predicts several tokens, and the row does not say with what";
// Models by the tables' names; others (Nemotron 3, DeepSeek V4) have no description here.
constexpr std::array<NameRule, 21> kModels = {{{"LLAMA2-7B", "Llama-2-7B"},
                                               {"LLAMA2-13B", "Llama-2-13B"},
                                               {"LLAMA2-70B", "Llama-2-70B"},
                                               {"LLAMA3-8B", "Llama-3-8B"},
                                               {"LLAMA3_8B", "Llama-3-8B"},
                                               {"LLAMA3-70B", "Llama-3-70B"},
                                               {"LLAMA3_70B", "Llama-3-70B"},
                                               {"LLAMA3-405B", "Llama-3.1-405B"},
                                               {"LLAMA3.1_405B", "Llama-3.1-405B"},
                                               {"GPT3-175B", "GPT-3-175B"},
                                               {"Nemotron-340B", "Nemotron-4-340B"},
                                               {"DeepSeekV3", "DeepSeek-V3"},
                                               {"DeepSeekV3 (w/o MTP)", "DeepSeek-V3"},
                                               {"DeepSeekV3 (dropless)", "DeepSeek-V3"},
                                               {"DeepSeekV3 (w/ MTP)", "", kPredicts},
                                               {"DeepSeekV3 (tokendrop)", "", kDrops},
                                               {"GPT OSS 120B", "gpt-oss-120b"},
                                               {"Qwen3_30B_a3B", "Qwen3-30B-A3B"},
                                               {"Qwen3_235B_a22B", "Qwen3-235B-A22B"},
                                               {"Qwen3_30B_a3B (tokendrop)", "", kDrops},
                                               {"Qwen3_235B_a22B (tokendrop)", "", kDrops}}};
// Parameters are bf16 throughout; the name says what products are cast to.
constexpr std::array<NameRule, 9> kFormats = {{{"BF16", "bf16"},
                                               {"FP8", "bf16"},
                                               {"MXFP8", "bf16"},
                                               {"FP8-CS", "bf16"},
                                               {"FP8-MX", "bf16"},
                                               {"FP8-CS (FP8-MX)", "bf16"},
                                               {"NVFP4", "bf16"},
                                               {"bf16/fp16", "bf16"},
                                               {"", "", "the format is not said"}}};
// Megatron-Bridge's performance scripts (scripts/performance/utils/precision.py): "fp8_cs" is current scaling without
// bf16 layers at the ends. NeMo 24 knew delayed scaling alone.
TrainPrecision precision_named(const std::string& name, bool bridge) {
  if (name == "NVFP4") return TrainPrecision::nvfp4;
  if (name == "MXFP8" || name == "FP8-MX") return TrainPrecision::mxfp8;
  if (!name.starts_with("FP8")) return TrainPrecision::none;
  return bridge ? TrainPrecision::fp8_current : TrainPrecision::fp8_delayed;
}

// The sizes of GPT-3 5B and 20B are NeMo's (examples/nlp/language_modeling/conf).
ModelSpec gpt3(const std::string& name, Count layers, Count hidden, Count heads) {
  AttentionSpec attention;
  attention.heads = attention.kv_heads = heads, attention.head_dim = hidden / heads;
  attention.q_bias = attention.kv_bias = attention.out_bias = attention.fused_qkv = true;
  StackSpec stack;
  stack.hidden = hidden;
  stack.layers = {{{attention, {}, MlpSpec{4 * hidden, false, ActivationKind::gelu, true}}, layers}};
  stack.norm = NormKind::layer, stack.norm_bias = true;
  stack.positions = Positions::learned, stack.max_positions = 2048;
  ModelSpec spec;
  spec.name = name, spec.vocab = 51200, spec.tied_head = true;
  spec.decoder = std::move(stack);
  return spec;
}

Result<ModelSpec> spec_of(const TableRow& row) {
  const std::string& name = row["model"];
  if (name == "GPT3-5B") return gpt3(name, 24, 4096, 32);
  if (name == "GPT3-20B") return gpt3(name, 44, 6144, 48);
  const auto ours = row.model();
  if (!ours) return ours.error();
  return find_model(*ours);
}

// Choices are made on one half of tables, cards and models; the other half judges them.
bool is_chosen_on(const std::string& group) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : group) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash % 2 == 0;
}

constexpr int kMostRanks = 100'000;  // of an axis

// "1 (2)": another layout for another format, not told apart in the row.
std::optional<int> plain_number(const std::string& text) {
  if (text.empty() || has(text, "(")) return std::nullopt;
  const auto value = to_double(text);
  return value && *value >= 1 && *value <= kMostRanks ? std::optional(static_cast<int>(*value)) : std::nullopt;
}
int number_after(const std::string& text, const std::string& word) {
  const std::size_t at = text.find(word);
  if (at == std::string::npos) return 1;
  const std::string digits = text.substr(at + word.size(), text.find(' ', at) - at - word.size());
  return static_cast<int>(std::clamp(to_double(digits).value_or(1), 1.0, static_cast<double>(kMostRanks)));
}

std::optional<RankLayout> layout_of(const TableRow& row, std::map<std::string, std::string>& notes,
                                    const ModelSpec& spec) {
  const auto tp = plain_number(row["tp"]), pp = plain_number(row["pp"]);
  if (!tp || !pp || has(row["dp_ep"], "(")) return std::nullopt;
  RankLayout l;
  l.tp = *tp, l.pp = *pp;
  l.cp = number_after(row["dp_ep"], "CP"), l.ep = number_after(row["dp_ep"], "EP");
  l.sequence_parallel = l.tp > 1;
  const Count gpus = row.count("num_gpus"), group = static_cast<Count>(l.tp) * l.pp * l.cp;
  if (gpus > kMostRanks || group > kMostRanks) return std::nullopt;
  l.dp = static_cast<int>(gpus / group);
  l.sharding = number_after(row["dp_ep"], "FSDP") > 1 ? Sharding::parameters : Sharding::optimizer;
  // Stages without layers (embedding and loss counted as one each) are not modelled here: fewer chunks instead.
  const Count layers = spec.decoder->layer_count();
  if (l.pp > 1) l.chunks = plain_number(notes["vp"]).value_or(1);
  while (l.chunks > 1 && Count{l.pp} * l.chunks > layers) --l.chunks;
  return l;
}

// What a row trains on: model, format and ranks.
struct TrainingAsked {
  ModelSpec spec;
  Precision precision;
  Cluster cluster;
  RankLayout layout;
};
Result<TrainingAsked> training_asked(const TableRow& row, std::map<std::string, std::string>& notes, bool bridge) {
  if (row["metric"] != "train_throughput_per_gpu")
    return left_out_row("another figure of the run: " + in_quotes(row["metric"]));
  if (has(row["notes"], "Long Input Sequences")) return left_out_row("shifted columns (\"Long Input Sequences\")");
  const auto gpu = row.gpu();
  if (!gpu) return gpu.error();
  auto spec = spec_of(row);
  if (!spec) return std::move(spec).error();
  const auto format = row.format();
  if (!format) return format.error();
  const auto layout = layout_of(row, notes, *spec);
  if (!layout || layout->dp < 1) return left_out_row("the layout is not said, or in alternatives");
  const Cluster* cluster = built_in_cluster_of(gpu->name);
  if (!cluster) return left_out_row("no cluster of " + gpu->name + " is known");
  auto precision = precision_from(format->name);
  if (!precision) return std::move(precision).error();
  precision->mixed = MixedPrecision::master;
  // NeMo's default (megatron_gpt_finetuning_config.yaml, lora_tuning): rank 32 beside the merged projection to queries,
  // keys and values alone, for which those of queries and values stand here. Beside all products it would cost a
  // quarter of a step more.
  if (has(row["notes"], "LoRA")) spec->adapters = bridge ? AdapterSpec{} : AdapterSpec{32, AdapterTargets::qv};
  TrainingAsked asked{*std::move(spec), *std::move(precision), *cluster, *layout};
  asked.cluster.nodes = (layout->ranks() + cluster->gpus_per_node - 1) / cluster->gpus_per_node;
  return asked;
}

// What Megatron-Bridge's presets say of models with experts beside the layout (scripts/performance/configs at 01b2977,
// 0426418, 07eea52 and 06e8da4): whether layers are captured in CUDA graphs, who dispatches tokens, what is recomputed.
struct ExpertPreset {
  bool graphs = true;            // cuda_graph_impl
  bool token_dispatch = true;    // moe_flex_dispatcher_backend: hybrid-EP or DeepEP; else "alltoall"
  Recomputation recompute = {};  // recompute_modules
};

// Which modules are recomputed; where presets changed between releases, as in the last one.
Recomputation recomputed_in(const std::string& model, const Gpu& gpu, const RankLayout& layout,
                            TrainPrecision precision) {
  using enum RecomputeModule;
  const bool h100 = gpu.name == "H100-SXM", b200 = gpu.name == "B200";
  if (model == "GPT OSS 120B") {  // but for one iteration in one graph
    const bool whole_graph = !h100 && !b200 && precision == TrainPrecision::mxfp8;
    return whole_graph ? Recomputation() : Recomputation({layernorm, moe_act});
  }
  if (!model.starts_with("DeepSeekV3")) return {};
  if (h100) return Recomputation({mla_up_proj, mlp});
  if (b200 && layout.pp == 8 && precision == TrainPrecision::nvfp4)
    return Recomputation({mla_up_proj, layernorm, moe_act});
  if (b200 && layout.pp == 8) return Recomputation({mla_up_proj, mlp});
  return precision == TrainPrecision::fp8_current && !b200 ? Recomputation({mlp}) : Recomputation({mla_up_proj});
}

ExpertPreset preset_of(const TableRow& row, const Gpu& gpu, const RankLayout& layout, Count micro,
                       TrainPrecision precision) {
  const std::string& model = row["model"];
  const bool h100 = gpu.name == "H100-SXM", b200 = gpu.name == "B200";
  ExpertPreset preset;
  preset.recompute = recomputed_in(model, gpu, layout, precision);
  if (!h100 && !b200) return preset;
  if (model == "Qwen3_235B_a22B" || model == "GPT OSS 120B") preset.graphs = preset.token_dispatch = false;
  if (model == "Qwen3_30B_a3B") preset.graphs = b200 && micro > 1;
  if (model.starts_with("DeepSeekV3")) preset.graphs = b200 && layout.pp == 8;
  // recompute_modules moe, layernorm and core_attn: all but the scans, which alone are captured.
  if (model == "Nemotron_3_Nano" && h100) preset.graphs = false, preset.recompute = Recompute::full;
  return preset;
}

Result<EndToEndCase> case_of(const TableRow& row, const std::string& source) {
  auto notes = notes_of(row["notes"]);
  const bool bridge = source == kBridgeSource.name;
  auto asked = training_asked(row, notes, bridge);
  if (!asked) return std::move(asked).error();
  const Count micro = plain_number(notes["mbs"]).value_or(1), length = row.count("seqlen");
  const Count batch = row.count("batch_or_concurrency");
  RankLayout own = asked->layout;
  if (batch < 1 || batch % (micro * own.dp) != 0)
    return left_out_row("the batch is not a whole number of micro-batches");
  const Count micro_batches = batch / (micro * own.dp);
  if (own.chunks > 1 && micro_batches % own.pp != 0) own.chunks = 1;
  // Kernels one after the other, as CUDA graphs and enough launches ahead have them.
  Run run{std::move(asked->spec), {.mode = Mode::train, .requests = {{batch, length, 0}}}, {}, {}};
  run.engine.precision = asked->precision;
  const Sharding sharding = own.sharding;
  apply(recipe_of(bridge ? Framework::bridge : Framework::nemo), run, own);
  own.sharding = sharding;
  run.training.narrow_exchange = bridge;  // grad_reduce_in_fp32 is off in its presets
  run.training.options.precision = precision_named(row["precision"], bridge);
  // User buffers know no nvfp4 (scripts/performance/configs/llama, tp_comm_overlap).
  if (run.training.options.precision == TrainPrecision::nvfp4) own.tensor_overlap = TensorOverlap::backward;
  bool by_kernels = run.training.options.precision != TrainPrecision::none;
  if (bridge && own.ep > 1) {
    const ExpertPreset preset = preset_of(row, asked->cluster.gpu, own, micro, run.training.options.precision);
    by_kernels = by_kernels && preset.token_dispatch;
    run.training.options.recompute = preset.recompute;
    if (!preset.graphs) run.engine.kind = EngineKind::pytorch;
  }
  if (by_kernels) run.training.token_dispatch = TokenDispatch::deepep;
  EndToEndCase one;
  one.label = {source, asked->cluster.gpu.name, "megatron", row["model"], "train", "", batch, length};
  one.label.detail = fmt::format("{} GPUs, {}, {}, {}", own.ranks(), row["precision"], text_of(own),
                                 is_chosen_on(source + "/" + row["gpu"] + "/" + row["model"]) ? "chosen on" : "judged");
  Figure throughput{"throughput", row.number("value") * own.ranks(), {{0, 1, Part::step}}};
  throughput.tokens = static_cast<double>(batch) * static_cast<double>(length);
  one.figures.push_back(std::move(throughput));
  one.spread = OverGpus{own, std::move(asked->cluster), micro};
  one.must_fit = 0;
  one.runs.push_back(std::move(run));
  return one;
}

constexpr MeasuringProtocol kProtocol{"tokens per second and GPU, tuned by the vendor; recomputation is not stated"};

}  // namespace
}  // namespace nemo

constexpr SourceMapping kBridgeSource{.name = "bridge",
                                      .from = "github.com/NVIDIA-NeMo/Megatron-Bridge, performance summary",
                                      .licence = "Apache-2.0",
                                      .files = nemo::kBridgeFiles,
                                      .columns = kWholeModelColumns,
                                      .models = nemo::kModels,
                                      .formats = nemo::kFormats,
                                      .around_gpu = nemo::kAroundGpu,
                                      .protocol = nemo::kProtocol};
constexpr SourceMapping kNemoSource{.name = "nemo",
                                    .from = "github.com/NVIDIA/NeMo, performance pages, and Megatron-LM's README",
                                    .licence = "Apache-2.0",
                                    .files = nemo::kNemoFiles,
                                    .columns = kWholeModelColumns,
                                    .models = nemo::kModels,
                                    .formats = nemo::kFormats,
                                    .around_gpu = nemo::kAroundGpu,
                                    .protocol = nemo::kProtocol};

Result<EndToEndCases> nemo_cases(const std::string& path, const SourceMapping& source) {
  return read_cases<EndToEndCase>(source, path,
                                  [&](const TableRow& row) { return nemo::case_of(row, std::string(source.name)); });
}

}  // namespace tilecast
