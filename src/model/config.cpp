#include "model/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "model/config_quantization.h"
#include "model/families.h"
#include "model/tower.h"
#include "support/file.h"
#include "support/json.h"
#include "support/text.h"

namespace tilecast {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostFileBytes = 1 << 22;  // the longest known, with a list for each of 160 layers, has 200 KB

struct HeadName {
  std::string_view suffix;
  HeadKind kind;
};
constexpr HeadName kHeads[] = {{"ForCausalLM", HeadKind::language},
                               {"LMHeadModel", HeadKind::language},
                               {"ForConditionalGeneration", HeadKind::language},
                               {"MTModel", HeadKind::language},
                               {"ForMaskedLM", HeadKind::masked},
                               {"ForPreTraining", HeadKind::pretraining},
                               {"ForSequenceClassification", HeadKind::classes},
                               {"ForImageClassification", HeadKind::classes},
                               {"ForImageClassificationWithTeacher", HeadKind::taught},
                               {"ForTokenClassification", HeadKind::token_classes},
                               {"ForQuestionAnswering", HeadKind::span},
                               {"ModelWithProjection", HeadKind::projection},
                               {"Model", HeadKind::none},
                               {"TextModel", HeadKind::none}};

std::vector<const ModelFamily*> all_families() {
  std::vector<const ModelFamily*> all;
  for (const auto* part : {&decoder_families(), &particular_decoder_families(), &hybrid_families(),
                           &text_encoder_families(), &image_families(), &encoder_decoder_families()})
    for (const ModelFamily& family : *part) all.push_back(&family);
  return all;
}

const ModelFamily* family_named(std::string_view name, std::vector<std::string_view> ModelFamily::*member) {
  if (name.empty()) return nullptr;
  for (const ModelFamily* family : all_families())
    for (const std::string_view known : family->*member)
      if (name_key(known) == name_key(name)) return family;
  return nullptr;
}

// "LlamaForCausalLM" apart. Of several endings the first with a stem that is known: CLIPTextModel is CLIPText's model,
// Gemma3TextModel Gemma3's.
struct ClassName {
  std::string_view stem;
  HeadKind head = HeadKind::language;
};
ClassName class_name(std::string_view architecture) {
  std::optional<ClassName> first;
  for (const HeadName& head : kHeads) {
    if (!architecture.ends_with(head.suffix)) continue;
    const ClassName found{architecture.substr(0, architecture.size() - head.suffix.size()), head.kind};
    if (family_named(found.stem, &ModelFamily::stems)) return found;
    if (!first) first = found;
  }
  return first.value_or(ClassName{architecture});
}

const ModelFamily* family_of(std::string_view stem, std::string_view model_type) {
  const ModelFamily* by_stem = family_named(stem, &ModelFamily::stems);
  return by_stem ? by_stem : family_named(model_type, &ModelFamily::model_types);
}

Error unknown_architecture(const std::string& place, const std::string& name) {
  constexpr std::string_view kWays = "export it to ONNX, or write it as a graph file (docs/graphs.md)";
  const std::string_view stem = class_name(name).stem, reason = why_not(stem);
  if (!reason.empty())
    return {place, "architectures", fmt::format("'{}' is not supported: {}", name.substr(0, 80), reason),
            std::string(kWays)};
  const auto near = nearest_names(stem, supported_architectures());
  return {place, "architectures", "unknown architecture '" + name.substr(0, 80) + "'",
          fmt::format("{}`tilecast models --classes` lists those that are known; or {}",
                      near.empty() ? "" : "nearest: " + join_or(near) + "; ", kWays)};
}

// Python writes NaN and Infinity, which JSON does not have (Nemotron-H's time_step_limit): read as strings, they matter
// only where a number is needed.
std::string without_python_numbers(std::string_view text) {
  std::string out;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      out += text[i++];
      if (i < text.size()) out += text[i];
      continue;
    }
    if (text[i] == '"') quoted = !quoted;
    std::string_view word;
    if (!quoted)
      for (const std::string_view known : {"-Infinity", "Infinity", "NaN"})
        if (word.empty() && text.substr(i).starts_with(known)) word = known;
    if (word.empty()) {
      out += text[i];
      continue;
    }
    out += '"' + std::string(word) + '"';
    i += word.size() - 1;
  }
  return out;
}

// Texts of the file appear in errors, which are one line of plain text.
Error on_one_line(Error error) {
  for (std::string* part : {&error.field, &error.problem})
    for (char& c : *part)
      if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  return error;
}

bool has_object(const Json& root, const std::string& key) { return root.contains(key) && root[key].is_object(); }

// Multimodal models keep their text part in a separate object, which some of them name differently.
std::string text_key(const Json& root) {
  for (const char* key : {"text_config", "llm_config", "language_config"})
    if (has_object(root, key)) return key;
  return "";
}
// Its fields, laid over the outer ones.
Json text_part(const Json& root) {
  const std::string text = text_key(root);
  if (text.empty()) return root;
  Json merged = root;
  merged.erase(text);
  merged.erase("architectures");
  for (const auto& [key, value] : root[text].items())
    if (!value.is_null() && key != "architectures") merged[key] = value;
  return merged;
}
// Qwen's Omni models keep the part that listens and thinks separate from the part that speaks.
const Json& thinking_part(const Json& root) {
  return has_object(root, "thinker_config") ? root["thinker_config"] : root;
}

// Parts beside the text that a forecast leaves out.
std::vector<std::string> parts_left_out(const Json& root) {
  std::vector<std::string> parts;
  for (const char* key : {"vision_config", "audio_config", "img_processor", "audio_processor", "talker_config"})
    if (has_object(root, key) || has_object(thinking_part(root), key)) parts.emplace_back(key);
  return parts;
}

std::string read_dtype(ConfigReader& read) {
  const std::string_view field = read.has("torch_dtype") ? "torch_dtype" : "dtype";
  std::string name = read.text_or(field, "float32");  // what Hugging Face takes where the file is silent
  if (name.starts_with("torch.")) name = name.substr(6);
  if (name == "bfloat16") return "bf16";
  if (name == "float16" || name == "half") return "fp16";
  if (name == "float32" || name == "float") return "fp32";
  if (!name.starts_with("float8"))
    read.fail(field, "unknown type '" + name.substr(0, 40) + "'", "known: bfloat16, float16, float32");
  return "bf16";
}

// Sums that would overflow are caught in floating point first: a layer's own size never does (config_reader.h).
bool too_large(const ModelSpec& spec) {
  double total = 0;
  for (const auto* stack : {&spec.encoder, &spec.decoder}) {
    if (!*stack) continue;
    for (const LayerRun& run : (*stack)->layers) {
      ModelSpec one;
      one.decoder = StackSpec{.hidden = (*stack)->hidden, .layers = {{run.layer, 1}}};
      total += static_cast<double>(parameters(one)) * static_cast<double>(run.repeats);
    }
  }
  return total > kMostParameters;
}

Result<ModelSpec> spec_from(const Json& root, const std::string& place) {
  ConfigReader outer(root, place);
  const auto architectures = outer.texts("architectures");
  const std::string model_type = outer.text_or("model_type", "");
  if (outer.failure()) return *outer.failure();
  if (architectures.empty() && model_type.empty())
    return Error{place, "architectures", "is missing, and so is model_type",
                 "give the class of the model, for example [\"LlamaForCausalLM\"]"};
  const std::string architecture = architectures.empty() ? model_type : architectures.front();
  auto [stem, head] = class_name(architecture);
  const ModelFamily* family = family_of(stem, model_type);
  const std::string nested = text_key(thinking_part(root));
  const Json text = text_part(thinking_part(root));
  if (!family && why_not(stem).empty() && text.contains("model_type") && text["model_type"].is_string()) {
    family = family_of({}, text["model_type"].get<std::string>());
    // Wrappers outside Hugging Face's library have a plain "Model" that generates.
    if (nested != "text_config" || &thinking_part(root) != &root) head = HeadKind::language;
  }
  if (!family) return unknown_architecture(place, architecture);

  // Two towers keep their parts (CLIP); elsewhere the text part is the model.
  ConfigReader read(family->two_towers ? root : text, place,
                    !nested.empty() && !family->two_towers ? nested + "." : "");
  if (!nested.empty())
    for (const ModelFamily::Default& known : family->nested) read.assume(known.field, known.value);
  ModelSpec spec = family->model ? family->model(read, *family, head) : read_decoder(read, *family, head);
  spec.architecture = architecture;
  spec.dtype = read_dtype(read);
  read_quantization(read, spec);
  if (!family->two_towers) spec.left_out = parts_left_out(root), spec.tower = largest_tower(root, place);
  if (read.failure()) return *read.failure();
  if (too_large(spec))
    return Error{place, "", "the sizes together make more than 10^15 parameters", "correct the sizes"};
  return spec;
}

}  // namespace

std::vector<std::string> supported_architectures() {
  std::vector<std::string> names;
  for (const ModelFamily* family : all_families())
    for (const std::string_view stem : family->stems) names.emplace_back(stem);
  std::sort(names.begin(), names.end());
  return names;
}

Result<ModelSpec> spec_from_json(std::string_view text, const std::string& place) {
  const auto root = parse_json_object(without_python_numbers(text), place, "give a Hugging Face config.json");
  if (!root) return root.error();
  auto spec = spec_from(*root, place);
  if (!spec) return on_one_line(std::move(spec).error());
  return spec;
}

Result<ModelSpec> load_model_config(const std::string& path) {
  std::error_code ignored;
  const bool directory = std::filesystem::is_directory(path, ignored);
  const std::string file = directory ? (std::filesystem::path(path) / "config.json").string() : path;
  auto text = read_text_file(file, kMostFileBytes);
  if (!text) return std::move(text).error();
  auto spec = spec_from_json(*text, file);
  if (spec) spec->name = path;
  return spec;
}

}  // namespace tilecast
