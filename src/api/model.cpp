#include "tilecast/model.h"

#include <fmt/format.h>

#include "api/declare.h"
#include "api/model_of.h"
#include "engine/precision.h"
#include "model/config.h"
#include "model/graph_file.h"
#include "model/library.h"
#include "model/onnx.h"
#include "support/file.h"
#include "support/input.h"
#include "support/mapped_file.h"
#include "support/number.h"

namespace tilecast {
namespace {

// A JSON file with sections is a graph of the user's own; any other is a configuration.
bool is_graph_file(const std::string& path) {
  if (!path.ends_with(".json") && !is_stream(path)) return false;
  constexpr std::size_t kMostBytes = 64u << 20;
  const auto text = read_text_file(path, kMostBytes);
  return text && looks_like_graph_json(*text);
}

// A stream has no name to tell by: what does not begin as JSON does is ONNX's.
bool is_piped_onnx(const std::string& path) {
  if (!is_stream(path)) return false;
  const auto file = MappedFile::open(path);
  if (!file) return false;
  const std::string_view bytes = file->bytes();
  const auto first = bytes.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  return first != std::string_view::npos && bytes[first] != '{';
}

Result<Model> onnx_model(const ModelQuery& query) {
  OnnxOptions options;
  options.allow_unknown = query.allow_unknown;
  for (const std::string& dim : query.dims) {
    const auto equals = dim.find('=');
    if (equals == std::string::npos) return field_error("dim", "'" + dim + "' is no name=value");
    const auto value = part_count(std::string_view(dim).substr(equals + 1), "dim " + dim.substr(0, equals));
    if (!value) return value.error();
    options.dims[dim.substr(0, equals)] = *value;
  }
  auto graph = graph_from_onnx(query.model, options);
  if (!graph) return std::move(graph).error();
  return Model{*std::move(graph)};
}

ModelInfo info_of(const ModelSpec& spec) {
  ModelInfo info;
  info.name = spec.name, info.architecture = spec.architecture;
  info.parameters = parameters(spec), info.active_parameters = active_parameters(spec);
  const Model model{spec};
  info.generates = generates(model), info.dtype = checkpoint_dtype(model);
  info.layers = (spec.decoder ? *spec.decoder : *spec.encoder).layer_count();
  if (info.generates)
    for (const CachePart& part : cache_need(spec).parts) info.cache_elements_per_token += part.per_token;
  const auto precision = precision_of(spec);
  const double element = precision ? precision->activation.activation_bits / 8 : 2;
  info.cache_per_token = bytes(element * static_cast<double>(info.cache_elements_per_token));
  info.context = spec.max_context, info.left_out = spec.left_out;
  return info;
}

ModelInfo info_of(const Graph& graph) {
  ModelInfo info;
  info.name = graph.name, info.architecture = "graph";
  info.parameters = info.active_parameters = parameters(graph);
  info.dtype = checkpoint_dtype(Model{graph});
  return info;
}

}  // namespace

Result<Count> part_count(std::string_view text, const std::string& field) {
  constexpr Count kMost = Count{1} << 30;  // no real batch or length exceeds it
  const auto value = number_between<Count>(text, 0, kMost);
  if (!value) return field_error(field, fmt::format("'{}' is no whole number between 0 and {}", text, kMost));
  return *value;
}

Result<Model> model_of(const ModelQuery& query) {
  if (query.model.ends_with(".onnx") || is_piped_onnx(query.model)) return onnx_model(query);
  if (!query.dims.empty()) return field_error("dim", "has a meaning for ONNX files only");
  if (is_graph_file(query.model)) {
    auto graph = graph_from_json_file(query.model);
    if (!graph) return std::move(graph).error();
    return Model{*std::move(graph)};
  }
  auto spec = find_model(query.model);
  if (!spec) return std::move(spec).error();
  return Model{*std::move(spec)};
}

std::string checkpoint_dtype(const Model& model) {
  const auto* spec = std::get_if<ModelSpec>(&model);
  if (!spec) return "bf16";
  return spec->quantization.empty() ? spec->dtype : spec->quantization;
}

bool generates(const Model& model) {
  const auto* spec = std::get_if<ModelSpec>(&model);
  return spec && spec->decoder && spec->lm_head;
}

std::vector<ModelInfo> known_models() {
  std::vector<ModelInfo> all;
  for (const ModelEntry& entry : list_models()) {
    ModelInfo info = info_of(entry.spec);
    info.name = entry.name, info.aliases = entry.aliases, info.source = entry.source;
    all.push_back(std::move(info));
  }
  return all;
}

Result<ModelInfo> describe_model(const ModelQuery& query) {
  if (auto fine = check_arguments(query); !fine) return std::move(fine).error();
  const auto model = model_of(query);
  if (!model) return model.error();
  return std::visit([](const auto& one) { return info_of(one); }, *model);
}

std::vector<std::string> model_classes() { return supported_architectures(); }

const Question& models_question() {
  static const Question question{"models", "list the models Tilecast knows by name", {"models", "models --classes"}};
  return question;
}

std::vector<BoundArgument> arguments_of(ModelQuery& q) {
  Declare list;
  list.add(q.model, {.name = "model",
                     .help = "a model's name, a Hugging Face config.json or its folder, an .onnx file, or a graph of "
                             "your own (docs/graphs.md)",
                     .example = "Llama-3.1-8B",
                     .required = true,
                     .positional = true});
  list.add(q.dims, {.name = "dim",
                    .help = "ONNX: name=value of a dynamic dimension; may be repeated",
                    .example = "batch=8",
                    .repeated = true});
  list.add(q.allow_unknown, {.name = "allow-unknown", .help = "ONNX: price unknown operators as memory traffic"});
  return list.take();
}

}  // namespace tilecast
