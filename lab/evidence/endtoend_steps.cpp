// Our own steps of plain decoders, of transformers' models and of training on an H200, as PyTorch runs them: one by
// one, in a CUDA graph, compiled.
#include <array>
#include <map>
#include <set>

#include "lab/evidence/endtoend.h"
#include "lab/evidence/endtoend_table.h"
#include "model/config.h"
#include "model/library.h"

namespace tilecast {
namespace torch_steps {
namespace {

// Of data/measurements. The second was measured and first judged when all constants and code stood.
constexpr std::string_view kUntouched = "h200_fresh_steps.csv.gz";
constexpr std::array<std::string_view, 2> kFiles = {"h200_steps.csv.gz", kUntouched};
constexpr std::array<SourceColumn, 11> kColumns = {
    {{"kind", "decoder: ours; hf, hf_train: transformers'; train: modules of ours"},
     {"model", "its name, lower case", ColumnRole::model},
     {"style", "how a decoder is written: merged, separate, hf"},
     {"mode", "what a step does"},
     {"engine", "eager, graph or compile"},
     {"dtype", "of parameters and products", ColumnRole::format},
     {"batch", "sequences or images"},
     {"length", "tokens, frames or patches of each"},
     {"latency_ms", "a step among steps back to back"},
     {"add_us", "a plain addition on that host right after"},
     {"note", "what else was seen"}}};
constexpr std::array<NameRule, 1> kFormats = {{{"autocast_bf16", "bf16"}}};
constexpr std::array<NameRule, 22> kModels = {{{"bert-base", "BERT-Base-MLM"},
                                               {"bert-base-128", "BERT-Base-MLM"},
                                               {"bert-large", "BERT-Base-MLM"},
                                               {"gpt2-medium", "GPT-2-Medium"},
                                               {"gpt2-large", "GPT-2-Large"},
                                               {"vit-base", "ViT-B-16"},
                                               {"vit-large", "ViT-L-16"},
                                               {"siglip-so400m", "ViT-L-16"},
                                               {"whisper-small-encoder", "Whisper-Small"},
                                               {"whisper-large-encoder", "Whisper-Large-v3"},
                                               {"bart-large", "T5-Base"},
                                               {"llama-8b-4l", "Llama-3.1-8B"},
                                               {"llama-1b-4l", "Llama-3.2-1B"},
                                               {"mistral-7b-v0.3-4l", "Mistral-7B-v0.3"},
                                               {"llama-2-7b-4l", "Llama-2-7B"},
                                               {"whisper-small-decoder", "", "a decoder without its encoder"},
                                               {"whisper-large-decoder", "", "a decoder without its encoder"},
                                               {"whisper-large-decoder-64", "", "a decoder without its encoder"},
                                               {"swin-base", "", "no description of Swin's windows"},
                                               {"convnext-base", "", "no description of ConvNeXt"},
                                               {"resnet-50", "", "no description of ResNet"},
                                               {"wav2vec2-base", "", "no description of wav2vec 2.0"}}};

// Constants and code were chosen with these in view; the other models judge them.
const std::set<std::string>& chosen_on() {
  static const std::set<std::string> names = {
      "llama-3.2-1b", "llama-3.1-8b", "tinyllama-1.1b", "vit-base",
      "bert-base",    "gpt2-medium",  "t5-base",        "whisper-small-encoder"};
  return names;
}

// For models that the library has in another size, or not at all.
constexpr std::string_view kBart = R"({"architectures": ["BartForConditionalGeneration"], "model_type": "bart",
  "d_model": 1024, "encoder_layers": 12, "decoder_layers": 12, "encoder_attention_heads": 16,
  "decoder_attention_heads": 16, "encoder_ffn_dim": 4096, "decoder_ffn_dim": 4096, "vocab_size": 50265,
  "max_position_embeddings": 1024, "activation_function": "gelu"})";
constexpr std::string_view kBertLarge = R"({"architectures": ["BertForMaskedLM"], "model_type": "bert",
  "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096,
  "max_position_embeddings": 512, "type_vocab_size": 2, "vocab_size": 30522, "hidden_act": "gelu"})";
// SigLIP's tower as a ViT of its size, with another head: 27 x 27 patches of the 384 pixels, no class token.
constexpr std::string_view kSiglip = R"({"architectures": ["ViTForImageClassification"], "model_type": "vit",
  "hidden_size": 1152, "num_hidden_layers": 27, "num_attention_heads": 16, "intermediate_size": 4304,
  "image_size": 378, "patch_size": 14, "num_channels": 3, "hidden_act": "gelu_pytorch_tanh", "num_labels": 1152})";

constexpr Count kFewLayers = 4, kFewWords = 32000;

Result<ModelSpec> spec_of(const std::string& name, const std::string& ours) {
  if (name == "bart-large") return spec_from_json(kBart, name);
  if (name == "bert-large") return spec_from_json(kBertLarge, name);
  if (name == "siglip-so400m") {
    auto tower = spec_from_json(kSiglip, name);
    if (tower) tower->patches->class_token = false, tower->encoder->max_positions = tower->patches->positions();
    return tower;
  }
  auto spec = find_model(ours);
  if (!spec) return spec;
  if (name.ends_with("-4l")) {
    spec->decoder->layers.front().repeats = kFewLayers;
    spec->vocab = kFewWords;
  }
  if (name.ends_with("-encoder")) spec->decoder.reset(), spec->lm_head = false, spec->vocab = 0;
  return spec;
}

bool trains(const TableRow& row) { return row["mode"] == "train"; }
bool has_source(const std::string& model) { return model.starts_with("t5") || model.starts_with("bart"); }
// While a stream is captured, transformers hands these a mask that it otherwise omits.
bool is_masked(const TableRow& row) { return row["note"].find("explicit mask") != std::string::npos; }

Workload workload_of(const TableRow& row) {
  constexpr Count kSource = 512, kTarget = 128;  // of the encoder-decoder models
  const Count batch = row.count("batch"), length = row.count("length");
  Workload w;
  w.requests = {{batch, length, 0}};
  if (has_source(row["model"])) w.requests = {{batch, kTarget, 0}}, w.source_len = kSource;
  if (trains(row)) {
    w.mode = Mode::train;
  } else if (row["mode"] == "decode") {  // `length` counts the step's own token
    w.mode = Mode::decode;
    w.requests = {{batch, 1, length - 1}};
  } else if (row["kind"] == "hf") {
    w.all_logits = true, w.keep_cache = false;
  }
  return w;
}

void write_as(EngineOptions& engine, const TableRow& row) {
  if (row["kind"] == "decoder") {
    engine.static_cache = true;
    engine.fused_norms = row["style"] == "separate";
    engine.merged_projections = engine.wide_rotation = row["style"] == "merged";
  }
  engine.fused_norms = engine.fused_norms || row["kind"] == "train";
  // T5's biases rule fused attention out, and so do masks that are given where nothing is causal.
  const bool encodes = row["model"].starts_with("vit") || row["model"].starts_with("b");
  engine.math_attention = row["model"].starts_with("t5") || (is_masked(row) && encodes);
  if (row["dtype"] == "autocast_bf16") engine.precision.mixed = MixedPrecision::autocast;
}

EngineKind engine_of(const TableRow& row) {
  if (row["engine"] == "graph") return EngineKind::pytorch_graph;
  return row["engine"] == "compile" ? EngineKind::compile : EngineKind::pytorch;
}

Result<Run> run_of(const TableRow& row) {
  const auto name = row.model();
  if (!name) return name.error();
  const auto format = row.format();
  if (!format) return format.error();
  auto spec = spec_of(row["model"], *name);
  if (!spec) return std::move(spec).error();
  auto precision = precision_from(row["dtype"] == "fp32" ? "fp32" : "bf16");
  if (!precision) return std::move(precision).error();
  Run run{*std::move(spec), workload_of(row), {}, {}};
  run.engine.kind = engine_of(row);
  run.engine.precision = *std::move(precision);
  run.training.fused_optimizer = true;
  write_as(run.engine, row);
  return run;
}

// Seconds of all kernels of a plain step, by its case; where a profiler listed them.
using KernelSums = std::map<std::string, double>;
constexpr std::array<std::string_view, 8> kKeys = {"kind",   "model", "style", "mode",
                                                   "engine", "dtype", "batch", "length"};

Result<KernelSums> kernel_sums(const std::string& path) {
  auto csv = CsvReader::open(path);
  if (!csv) return std::move(csv).error();
  std::vector<std::size_t> at;
  for (const std::string_view name : kKeys) {
    const auto found = csv->column(name);
    if (!found) return found.error();
    at.push_back(*found);
  }
  const auto time = csv->column("total_us");
  if (!time) return time.error();
  KernelSums sums;
  while (true) {
    const auto more = csv->next();
    if (!more) return more.error();
    if (!*more) return sums;
    std::string key;
    for (const std::size_t column : at) key += std::string((*csv)[column]) + ";";
    constexpr double kMicro = 1e-6;
    sums[key] += to_double((*csv)[*time]).value_or(0) * kMicro;
  }
}

// Where kernels take less than this share of a step, the card waited for the host.
bool waits_for_host(const TableRow& row, const KernelSums& sums) {
  constexpr double kBusy = 0.85, kMilli = 1e-3;
  std::string key;
  for (const std::string_view name : kKeys) key += row[std::string(name)] + ";";
  const auto found = sums.find(key);
  return found != sums.end() && found->second < kBusy * kMilli * row.number("latency_ms");
}

std::string group_of(const TableRow& row) {
  if (row["kind"] == "decoder") return "decoder, " + row["mode"];
  if (trains(row)) return row["kind"] == "train" ? "training, decoders" : "training, transformers";
  if (has_source(row["model"])) return "encoder-decoder";
  if (row["model"].starts_with("whisper")) return "speech";
  if (row["model"].starts_with("vit") || row["model"].starts_with("siglip")) return "vision";
  return row["model"].starts_with("bert") ? "text encoder" : "decoder, transformers";
}

std::string half_of(const std::string& model, bool untouched) {
  if (untouched) return ", untouched";
  return chosen_on().contains(model) ? ", chosen on" : ", judged";
}

Result<EndToEndCase> case_of(const TableRow& row, const KernelSums& sums, bool untouched) {
  auto run = run_of(row);
  if (!run) return std::move(run).error();
  EndToEndCase one;
  one.label = {"h200-steps",       "H200-SXM",         row["engine"],
               row["model"],       group_of(row),      row["dtype"] + ", " + row["style"],
               row.count("batch"), row.count("length")};
  one.label.detail += half_of(row["model"], untouched);
  if (is_masked(row)) one.label.detail += ", explicit mask";
  one.runs.push_back(*std::move(run));
  if (row["engine"] == "eager") {
    const HostCode code = row["kind"].starts_with("hf") ? HostCode::modules : HostCode::operators;
    one.pace = HostPace{code, microseconds(row.number("add_us"))};
    if (waits_for_host(row, sums)) one.label.detail += ", host-bound";
  }
  constexpr double kMilli = 1e-3;
  one.figures.push_back({"step", row.number("latency_ms") * kMilli, {{0, 1, Part::step}}});
  return one;
}

}  // namespace
}  // namespace torch_steps

constexpr SourceMapping kOwnStepsSource{.name = "h200-steps",
                                        .from = "our own, tools/collect/windows",
                                        .licence = "as this repository",
                                        .files = torch_steps::kFiles,
                                        .columns = torch_steps::kColumns,
                                        .models = torch_steps::kModels,
                                        .formats = torch_steps::kFormats,
                                        .protocol = {"random weights under PyTorch 2.11, steps back to back"}};

Result<EndToEndCases> h200_step_cases(const std::string& folder) {
  EndToEndCases all;
  for (const std::string_view file : torch_steps::kFiles) {
    const std::string path = folder + "/" + std::string(file);
    std::string kernels = path;
    kernels.insert(kernels.rfind("steps.") + 5, "_kernels");
    const auto sums = torch_steps::kernel_sums(kernels);
    if (!sums) return sums.error();
    auto read = read_cases<EndToEndCase>(kOwnStepsSource, path, [&](const TableRow& row) {
      return torch_steps::case_of(row, *sums, file == torch_steps::kUntouched);
    });
    if (!read) return read;
    all.add(*std::move(read));
  }
  return all;
}

}  // namespace tilecast
