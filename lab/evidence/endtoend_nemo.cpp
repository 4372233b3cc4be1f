// NVIDIA's own training tables (Megatron-Bridge, NeMo): tuned by the vendor, recomputation not stated.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "cluster/registry.h"
#include "lab/evidence/endtoend.h"
#include "lab/evidence/endtoend_table.h"
#include "model/library.h"

namespace tilecast {
namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// Models by the tables' names; others (Nemotron 3, DeepSeek V4) have no description here, and the sizes of GPT-3 5B and
// 20B are NeMo's (examples/nlp/language_modeling/conf).
struct KnownModel {
  std::string_view table, ours;
};
constexpr std::array<KnownModel, 15> kModels = {{{"LLAMA2-7B", "Llama-2-7B"},
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
                                                 {"GPT OSS 120B", "gpt-oss-120b"},
                                                 {"Qwen3_30B_a3B", "Qwen3-30B-A3B"},
                                                 {"Qwen3_235B_a22B", "Qwen3-235B-A22B"}}};

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

std::optional<ModelSpec> model_of(const std::string& name) {
  if (name == "GPT3-5B") return gpt3(name, 24, 4096, 32);
  if (name == "GPT3-20B") return gpt3(name, 44, 6144, 48);
  for (const KnownModel& known : kModels) {
    // "DeepSeekV3 (w/o MTP)"; routing that drops tokens does less work than its name says.
    if (!name.starts_with(known.table) || has(name, "tokendrop") || has(name, "w/ MTP")) continue;
    if (auto spec = find_model(std::string(known.ours))) return *std::move(spec);
  }
  return std::nullopt;
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

// One scale a tensor, or one of 32 elements: the products' rate is the same.
std::string_view format_of(const std::string& precision) {
  if (precision.empty() || precision == "BF16") return precision.empty() ? "" : "bf16";
  return precision == "NVFP4" ? "nvfp4" : "fp8";
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
  // Stages without layers (embedding and loss counted as one each) are not spoken of here: fewer chunks instead.
  const Count layers = spec.decoder->layer_count();
  if (l.pp > 1) l.chunks = plain_number(notes["vp"]).value_or(1);
  while (l.chunks > 1 && l.pp * l.chunks > layers) --l.chunks;
  return l;
}

std::optional<EndToEndCase> case_of(const TableRow& row, const std::string& source) {
  auto notes = notes_of(row["notes"]);
  const bool adapters = has(row["notes"], "LoRA"), shifted = has(row["notes"], "Long Input Sequences");
  const std::string_view format = format_of(row["precision"]);
  auto spec = model_of(row["model"]);
  if (!spec || adapters || shifted || format.empty()) return std::nullopt;
  const auto layout = layout_of(row, notes, *spec);
  auto cluster = find_cluster(has(row["gpu"], "GB200") ? "gb200" : has(row["gpu"], "B200") ? "hgx-b200" : "hgx-h100");
  auto precision = precision_from(format);
  if (!layout || layout->dp < 1 || !cluster || !precision) return std::nullopt;
  cluster->nodes = (layout->ranks() + cluster->gpus_per_node - 1) / cluster->gpus_per_node;
  precision->mixed = MixedPrecision::master;
  precision->linear.weight_bits = precision->experts.weight_bits = 16;  // cast in every pass

  const Count micro = plain_number(notes["mbs"]).value_or(1), length = row.count("seqlen");
  const Count batch = row.count("batch_or_concurrency");
  if (batch % (micro * layout->dp) != 0) return std::nullopt;
  const Count micro_batches = batch / (micro * layout->dp);
  RankLayout own = *layout;
  if (own.chunks > 1 && micro_batches % own.pp != 0) own.chunks = 1;
  // Kernels one after the other, as CUDA graphs and enough launches ahead have them.
  Run run{*std::move(spec), {.mode = Mode::train, .requests = {{batch, length, 0}}}, {}, {}};
  run.engine.kind = EngineKind::cudagraph, run.engine.precision = *std::move(precision);
  run.engine.loss = LossForm::in_place;
  run.engine.newest_attention = true;
  run.training.fused_optimizer = run.training.wide_gradients = true;
  EndToEndCase one;
  one.label = {source, cluster->gpu.name, "megatron", row["model"], "train", "", batch, length};
  one.label.detail = fmt::format("{} GPUs, {}, {}", own.ranks(), row["precision"], text_of(own));
  Figure throughput{"throughput", row.number("value") * own.ranks(), {{0, 1, Part::step}}};
  throughput.tokens = static_cast<double>(batch * length);
  one.figures.push_back(std::move(throughput));
  one.spread = OverGpus{own, *std::move(cluster), micro};
  one.must_fit = 0;
  one.runs.push_back(std::move(run));
  return one;
}

}  // namespace

Result<std::vector<EndToEndCase>> nemo_cases(const std::string& path, const std::string& source) {
  const auto rows = read_table(path, {"gpu", "num_gpus", "tp", "pp", "dp_ep", "model", "precision",
                                      "batch_or_concurrency", "seqlen", "metric", "value", "notes"});
  if (!rows) return rows.error();
  std::vector<EndToEndCase> cases;
  for (const TableRow& row : *rows) {
    if (row["metric"] != "train_throughput_per_gpu") continue;
    if (auto one = case_of(row, source)) cases.push_back(*std::move(one));
  }
  return cases;
}

}  // namespace tilecast
