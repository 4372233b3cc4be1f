#include "model/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "model/config_quantization.h"
#include "model/families.h"
#include "support/file.h"
#include "support/json.h"
#include "support/text.h"

namespace tilecast {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostFileBytes = 1 << 22;  // the longest known, with a list for each of 160 layers, has 200 KB
constexpr double kMostParameters = 1e15;         // two hundred times the largest published

struct HeadName {
  std::string_view suffix;
  HeadKind kind;
};
constexpr HeadName kHeads[] = {{"ForCausalLM", HeadKind::language},
                               {"LMHeadModel", HeadKind::language},
                               {"ForConditionalGeneration", HeadKind::language},
                               {"ForMaskedLM", HeadKind::masked},
                               {"ForPreTraining", HeadKind::pretraining},
                               {"ForSequenceClassification", HeadKind::classes},
                               {"ForImageClassification", HeadKind::classes},
                               {"TextModel", HeadKind::none},
                               {"Model", HeadKind::none}};

std::vector<const ModelFamily*> all_families() {
  std::vector<const ModelFamily*> all;
  for (const auto* part : {&decoder_families(), &hybrid_families(), &encoder_families()})
    for (const ModelFamily& family : *part) all.push_back(&family);
  return all;
}

// "LlamaForCausalLM" apart.
struct ClassName {
  std::string_view stem;
  HeadKind head = HeadKind::language;
};
ClassName class_name(std::string_view architecture) {
  for (const HeadName& head : kHeads)
    if (architecture.ends_with(head.suffix))
      return {architecture.substr(0, architecture.size() - head.suffix.size()), head.kind};
  return {architecture};
}

const ModelFamily* family_of(std::string_view stem, std::string_view model_type) {
  const auto find = [&](std::string_view name, auto member) -> const ModelFamily* {
    if (name.empty()) return nullptr;
    for (const ModelFamily* family : all_families())
      for (const std::string_view known : family->*member)
        if (name_key(known) == name_key(name)) return family;
    return nullptr;
  };
  const ModelFamily* by_stem = find(stem, &ModelFamily::stems);
  return by_stem ? by_stem : find(model_type, &ModelFamily::model_types);
}

Error unknown_architecture(const std::string& place, const std::string& name) {
  const auto known = supported_architectures();
  const std::string list = "supported: " + join(known, ", ");
  const auto near = nearest_names(class_name(name).stem, known);
  return {place, "architectures", "unknown architecture '" + name.substr(0, 80) + "'",
          near.empty() ? list : "nearest: " + join_or(near) + "; " + list};
}

// Python writes NaN and Infinity, which JSON does not have (Nemotron-H's time_step_limit): read as texts, they hurt
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

// Models of several senses keep their text part in an object of its own; its fields are laid over the outer ones.
Json text_part(const Json& root) {
  if (!root.contains("text_config") || !root["text_config"].is_object()) return root;
  Json merged = root;
  merged.erase("text_config");
  merged.erase("architectures");
  for (const auto& [key, value] : root["text_config"].items())
    if (!value.is_null() && key != "architectures") merged[key] = value;
  return merged;
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
  const auto [stem, head] = class_name(architecture);
  const ModelFamily* family = family_of(stem, model_type);
  const Json text = text_part(root);
  if (!family && text.contains("model_type") && text["model_type"].is_string())
    family = family_of({}, text["model_type"].get<std::string>());
  if (!family) return unknown_architecture(place, architecture);

  // Two towers keep their parts (CLIP); elsewhere the text part is the model.
  ConfigReader read(family->two_towers ? root : text, place,
                    root.contains("text_config") && !family->two_towers ? "text_config." : "");
  ModelSpec spec = family->model ? family->model(read, *family, head) : read_decoder(read, *family, head);
  spec.architecture = architecture;
  spec.dtype = read_dtype(read);
  spec.quantization = read_quantization(read);
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
