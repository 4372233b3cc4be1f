// Megatron-LM's own continuous tests: small models under every parallelism, with the peak of PyTorch's allocator.
//
// The figure is of the last rank, which writes Megatron's TensorBoard (megatron/training/global_vars.py), so of the
// last pipeline stage. Where a row says nothing, Megatron's defaults are assumed (megatron/training/arguments.py).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "cluster/registry.h"
#include "lab/evidence/endtoend.h"
#include "lab/evidence/endtoend_columns.h"
#include "parallel/framework.h"

namespace tilecast {
namespace megatron {
namespace {

constexpr std::array<std::string_view, 1> kFiles = {"e2e/train_megatron_lm_ci_golden.csv.gz"};
constexpr std::array<std::string_view, 2> kAroundGpu = {"NVIDIA ", " (DGX CI)"};
// What is kept is as wide as bf16's in the tests of fp16 and fp8, and step times wait for the host.
constexpr std::array<NameRule, 3> kFormats = {
    {{"fp16", "bf16"}, {"fp8", "bf16"}, {"fp32", "", "tests in fp32, of which only step times are given"}}};

using Notes = std::map<std::string, std::string>;

constexpr Count kMostOfASide = 1'000'000;  // layers, heads, widths: more is nonsense

Count number(const Notes& notes, const std::string& key, Count otherwise = 0) {
  const auto found = notes.find(key);
  return found == notes.end() ? otherwise : std::clamp<Count>(count_in(found->second), 0, kMostOfASide);
}
bool says(const Notes& notes, const std::string& key) {
  const auto found = notes.find(key);
  return found != notes.end() && found->second == "true";
}
bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

constexpr int kMostRanks = 100'000;  // of an axis

// A number right behind a word of the test's name ("etp2"), or behind "EP" and "CP" of the table's column.
std::optional<int> number_after(const std::string& text, const std::string& word) {
  const std::size_t at = text.find(word);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t first = at + word.size(), end = text.find_first_not_of("0123456789", first);
  const auto value = to_double(text.substr(first, end == std::string::npos ? end : end - first));
  return value && *value >= 1 && *value <= kMostRanks ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

// What a test trains, by the folder it lies in. Others mix in layers or towers that the table does not describe
// (hybrid, llava, mimo), or measure generation as well (grpo).
enum class Kind { gpt, bert, t5 };
std::optional<Kind> kind_of(const std::string& test) {
  if (has(test, "grpo")) return std::nullopt;
  if (test.starts_with("bert/")) return Kind::bert;
  if (test.starts_with("t5/")) return Kind::t5;
  if (test.starts_with("gpt/") || test.starts_with("moe/") || test.starts_with("mixtral/")) return Kind::gpt;
  return std::nullopt;
}

// Tokenizers of the tests (their model_config.yaml): GPT-2's byte pairs; BERT's words, with 100 sentinels for T5;
// 256000 pieces of Nemotron's (15B and Mixtral); an empty one of 131072 (7B); DeepSeek's own.
Count vocabulary(const std::string& test, Kind kind) {
  if (kind == Kind::bert) return 30522;
  if (kind == Kind::t5) return 28996 + 100;
  if (has(test, "15b") || has(test, "mixtral_")) return 256000;
  if (has(test, "gpt3_7b")) return 131073;
  if (has(test, "deepseekv3")) return 129280;
  return 50257;
}

AttentionSpec attention_of(const Notes& notes, bool causal, bool bias) {
  AttentionSpec a;
  a.heads = number(notes, "num-attention-heads");
  a.kv_heads = number(notes, "num-query-groups", a.heads);
  a.head_dim = number(notes, "kv-channels", number(notes, "hidden-size") / std::max<Count>(1, a.heads));
  a.causal = causal, a.fused_qkv = true;
  a.q_bias = a.kv_bias = a.out_bias = bias;
  return a;
}

// DeepSeek V3's latents, which the tests take.
MlaSpec latent_of(const Notes& notes) {
  MlaSpec a;
  a.heads = number(notes, "num-attention-heads");
  a.q_rank = 1536, a.kv_rank = 512;
  return a;
}

FeedForward feed_forward_of(const Notes& notes, bool bias) {
  const Count hidden = number(notes, "hidden-size"), inter = number(notes, "ffn-hidden-size", 4 * hidden);
  const bool gated = says(notes, "swiglu");
  const ActivationKind activation = gated ? ActivationKind::silu : ActivationKind::gelu;
  if (number(notes, "num-experts") == 0) return MlpSpec{inter, gated, activation, bias};
  MoeSpec moe;
  moe.experts = number(notes, "num-experts"), moe.topk = number(notes, "moe-router-topk", 2);
  moe.inter = number(notes, "moe-ffn-hidden-size", inter);
  moe.gated = gated, moe.activation = activation;
  return moe;
}

StackSpec stack_of(const Notes& notes, Count layers, Count length, bool causal, bool cross) {
  const bool bias = !says(notes, "swiglu");  // a gated test switches biases off with it
  LayerSpec layer;
  if (says(notes, "multi-latent-attention")) layer.mixer = latent_of(notes);
  else layer.mixer = attention_of(notes, causal, bias);
  if (cross) layer.cross = attention_of(notes, false, bias);
  layer.feed_forward = feed_forward_of(notes, bias);
  StackSpec stack;
  stack.hidden = number(notes, "hidden-size");
  stack.layers = {{layer, layers}};
  stack.norm = NormKind::layer, stack.norm_bias = true;
  stack.positions = Positions::learned, stack.max_positions = length;
  return stack;
}

ModelSpec spec_of(const TableRow& row, const Notes& notes, Kind kind, Count tp) {
  ModelSpec spec;
  spec.name = row["model"];
  const Count length = row.count("seqlen"), layers = number(notes, "num-layers", 12);
  const Count multiple = number(notes, "make-vocab-size-divisible-by", 128) * tp;
  spec.vocab = ceil_div(vocabulary(row["model"], kind), multiple) * multiple;
  spec.tied_head = !says(notes, "untie-embeddings-and-output-weights");
  switch (kind) {
    case Kind::gpt: spec.decoder = stack_of(notes, layers, length, true, false); break;
    case Kind::bert:
      spec.encoder = stack_of(notes, layers, length, false, false);
      spec.encoder->token_types = 2;
      spec.head_transform = spec.head_bias = spec.pooler = true;
      break;
    case Kind::t5: {
      const Count each = has(row["model"], "11b") ? 24 : 12;
      spec.encoder = stack_of(notes, each, length, false, false);
      spec.decoder = stack_of(notes, each, length, true, true);
      break;
    }
  }
  return spec;
}

// The table says eight GPUs of every test; some need more. The fewest that the layout can have.
Result<RankLayout> layout_of(const TableRow& row, const Notes& notes) {
  RankLayout l;
  const Count tp = row.count("tp"), pp = row.count("pp"), gpus = row.count("num_gpus");
  l.cp = number_after(row["dp_ep"], "CP").value_or(1);
  l.ep = number_after(row["dp_ep"], "EP").value_or(1);
  if (tp < 1 || pp < 1 || gpus < 1 || tp > kMostRanks || pp > kMostRanks || tp * pp * l.cp > kMostRanks ||
      gpus > kMostRanks)
    return left_out_row("tp, pp and num_gpus must be one or more, and their ranks at most 100000");
  l.tp = static_cast<int>(tp), l.pp = static_cast<int>(pp);
  l.sequence_parallel = says(notes, "sequence-parallel") && l.tp > 1;
  if (number(notes, "num-experts") > 0) l.expert_tp = number_after(row["model"], "etp").value_or(l.tp);
  const Count group = static_cast<Count>(l.ep) * std::max(1, l.expert_tp);
  l.dp = std::max(1, static_cast<int>(gpus) / (l.tp * l.pp * l.cp));
  while (l.dp < kMostRanks && static_cast<Count>(l.tp) * l.cp * l.dp % group != 0) ++l.dp;
  if (says(notes, "use-megatron-fsdp")) l.sharding = Sharding::parameters;
  else if (says(notes, "use-distributed-optimizer")) l.sharding = Sharding::optimizer;
  l.overlap = says(notes, "overlap-grad-reduce");
  const Count each = number(notes, "num-layers-per-virtual-pipeline-stage");
  if (each > 0) l.chunks = static_cast<int>(std::max<Count>(1, number(notes, "num-layers") / (l.pp * each)));
  return l;
}

std::string noted(const Notes& notes, const std::string& key) {
  const auto found = notes.find(key);
  return found == notes.end() ? std::string() : found->second;
}

// The long-term image as two of the clusters recorded it: deterministic tests keep their scores there, as Transformer
// Engine does where flash-attn is older than 2.4.1 and cuDNN has no deterministic backward (Ampere). Nothing in the
// table but the memory itself says which flash-attn an image held; this was read off the rows.
bool lacks_deterministic_flash(const TableRow& row) { return has(row["source"], "golden_values_lts_dgxa100_dracooci"); }

// Unfused attention where a test asks for it, or for layers without Transformer Engine; else flash or cuDNN's.
bool writes_scores(const TableRow& row, const Notes& notes) {
  const auto at = [&](const char* key) { return noted(notes, key); };
  if (at("recompute-granularity") == "selective") return false;  // scores are computed again
  const std::string backend = at("attention-backend");
  if (backend.empty() && says(notes, "deterministic-mode") && lacks_deterministic_flash(row)) return true;
  return backend == "unfused" || backend == "local" || (backend.empty() && at("transformer-impl") == "local");
}

Result<Cluster> cluster_of(const TableRow& row) {
  const auto gpu = row.gpu();
  if (!gpu) return gpu.error();
  const Cluster* cluster = built_in_cluster_of(gpu->name);
  if (!cluster) return left_out_row("no cluster of " + gpu->name + " is known");
  return *cluster;
}

Result<EndToEndCase> case_of(const TableRow& row) {
  if (row["metric"] == "train_step_time_min")
    return left_out_row("another figure of the run: " + in_quotes(row["metric"]));
  const auto kind = kind_of(row["model"]);
  const std::string family = row["model"].substr(0, row["model"].find('/'));
  if (!kind) return left_out_row("tests of models that the table does not describe: " + in_quotes(family));
  if (row.count("seqlen") <= 0) return left_out_row("the length of sequences is not said");
  auto cluster = cluster_of(row);
  if (!cluster) return std::move(cluster).error();
  const auto format = row.format();
  if (!format) return format.error();
  const Notes notes = notes_of(row["notes"]);
  if (has(noted(notes, "TEST_TYPE"), "release"))
    return left_out_row("tests of a release, whose number of GPUs is not said");
  auto layout = layout_of(row, notes);
  if (!layout) return std::move(layout).error();
  auto precision = precision_from(format->name);
  if (!precision) return std::move(precision).error();
  cluster->nodes = (layout->ranks() + cluster->gpus_per_node - 1) / cluster->gpus_per_node;
  precision->mixed = MixedPrecision::master;

  const Count micro = std::max<Count>(1, number(notes, "micro-batch-size", 1));
  const Count length = row.count("seqlen"), at_once = micro * layout->dp;
  // A whole number of micro-batches, and of rounds through the pipeline where stages are interleaved.
  const Count round = at_once * (layout->chunks > 1 ? layout->pp : 1);
  const Count asked =
      row.count("batch_or_concurrency") > 0 ? row.count("batch_or_concurrency") : 4 * layout->pp * at_once;
  const Count batch = ceil_div(asked, round) * round;
  Run run{spec_of(row, notes, *kind, layout->tp), {.mode = Mode::train, .requests = {{batch, length, 0}}}, {}, {}};
  if (*kind == Kind::t5) {  // the tests' decoders read 128 tokens
    run.workload.source_len = length;
    run.workload.requests.front().new_tokens = 128;
  }
  run.engine.kind = EngineKind::pytorch, run.engine.precision = *std::move(precision);
  run.engine.fused_layers = true, run.engine.loss = LossForm::in_place;
  // Its fused form writes the exponentials beside the logits (fusions/fused_cross_entropy.py).
  if (says(notes, "cross-entropy-loss-fusion") || has(row["model"], "cross_entropy_loss_fusion"))
    run.engine.loss = LossForm::shifted;
  run.engine.attention = AttentionForm::cudnn;  // Transformer Engine's from Hopper on
  run.engine.dropout = !says(notes, "swiglu");  // 0.1 unless asked; the tests of gated models ask for none
  run.engine.eager_attention = writes_scores(row, notes);
  run.training.fused_optimizer = run.training.wide_gradients = true;
  run.training.options.stops_early = recipe_of(Framework::megatron).stops_early;
  if (const auto found = notes.find("recompute-granularity"); found != notes.end() && found->second == "full")
    run.training.options.recompute = Recompute::full;

  EndToEndCase one;
  one.label = {"megatron", cluster->gpu.name, "megatron", row["model"], "train", "", batch, length};
  one.label.detail = fmt::format("{}, {}", family, run.engine.eager_attention ? "scores kept" : "flash attention");
  one.spread = OverGpus{*layout, *std::move(cluster), micro};
  const bool memory = row["metric"] == "peak_memory_allocated_rank";
  one.figures.push_back(
      {memory ? "memory" : "step", row.number("value"), {{0, 1, memory ? Part::last_memory : Part::step}}});
  one.must_fit = 0;
  one.runs.push_back(std::move(run));
  return one;
}

}  // namespace
}  // namespace megatron

constexpr SourceMapping kMegatronSource{
    .name = "megatron",
    .from = "github.com/NVIDIA/Megatron-LM, tests/functional_tests (golden values)",
    .licence = "BSD-3-Clause",
    .files = megatron::kFiles,
    .columns = kWholeModelColumns,
    .formats = megatron::kFormats,
    .around_gpu = megatron::kAroundGpu,
    .protocol = {
        "peak of PyTorch's allocator on the last rank, and the median step, of small models under every layout"}};

Result<EndToEndCases> megatron_cases(const std::string& path) {
  return read_cases<EndToEndCase>(kMegatronSource, path, megatron::case_of);
}

}  // namespace tilecast
