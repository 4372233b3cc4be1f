#include "tilecast/model.h"

#include <fmt/format.h>

#include "api/declare.h"
#include "api/model_of.h"
#include "engine/precision.h"
#include "model/build.h"
#include "model/config.h"
#include "model/graph_file.h"
#include "model/library.h"
#include "model/onnx.h"
#include "support/amount.h"
#include "support/file.h"
#include "support/input.h"
#include "support/json.h"
#include "support/mapped_file.h"

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
    if (equals == std::string::npos)
      return field_error("dim", "'" + dim + "' is not a name=value", "for example batch=8");
    const auto value = part_count(std::string_view(dim).substr(equals + 1), "dim " + dim.substr(0, equals));
    if (!value) return value.error();
    options.dims[dim.substr(0, equals)] = *value;
  }
  auto graph = graph_from_onnx(query.model, options);
  if (!graph) return std::move(graph).error();
  return Model{*std::move(graph)};
}

void say_mixer(const Mixer& mixer, ModelLayers& out) {
  if (const auto* a = std::get_if<AttentionSpec>(&mixer)) {
    out.mixer = "attention", out.window = a->window;
    out.heads = a->heads, out.kv_heads = a->kv_heads, out.head_dim = a->head_dim;
  } else if (const auto* mla = std::get_if<MlaSpec>(&mixer)) {
    out.mixer = "latent attention", out.heads = mla->heads, out.head_dim = mla->nope_dim + mla->rope_dim;
  } else if (const auto* scan = std::get_if<ScanSpec>(&mixer)) {
    out.mixer = scan->rule == ScanRule::mamba2 ? "state space" : "linear attention";
    out.heads = scan->heads, out.head_dim = scan->head_dim;
  }
}

void say_feed_forward(const FeedForward& layer, ModelLayers& out) {
  if (const auto* mlp = std::get_if<MlpSpec>(&layer)) {
    out.feed_forward = "dense", out.width = mlp->inter;
  } else if (const auto* moe = std::get_if<MoeSpec>(&layer)) {
    out.feed_forward = "experts", out.width = moe->inter;
    out.experts = moe->experts, out.experts_per_token = moe->topk, out.shared_width = moe->shared_inter;
  }
}

void add_kinds(const std::optional<StackSpec>& stack, const char* name, std::vector<ModelLayers>& out) {
  if (!stack) return;
  for (const LayerRun& run : layer_kinds(*stack).kinds) {
    ModelLayers kind;
    kind.stack = name, kind.layers = run.repeats;
    say_mixer(run.layer.mixer, kind);
    say_feed_forward(run.layer.feed_forward, kind);
    out.push_back(std::move(kind));
  }
}

ModelInfo info_of(const ModelSpec& spec) {
  ModelInfo info;
  info.name = spec.name, info.architecture = spec.architecture;
  info.parameters = parameters(spec), info.active_parameters = active_parameters(spec);
  const Model model{spec};
  info.generates = generates(model), info.dtype = checkpoint_dtype(model);
  const StackSpec& stack = spec.decoder ? *spec.decoder : *spec.encoder;
  info.layers = stack.layer_count(), info.hidden = stack.hidden, info.vocabulary = spec.vocab;
  add_kinds(spec.encoder, "encoder", info.kinds);
  add_kinds(spec.decoder, "decoder", info.kinds);
  if (info.generates)
    for (const CachePart& part : cache_need(spec).parts) info.cache_elements_per_token += part.per_token;
  const auto precision = precision_of(spec);
  const double element = precision ? precision->activation.activation_bits / 8 : 2;
  info.formats = precision ? text_of(*precision) : info.dtype;
  info.cache_per_token = bytes(element * static_cast<double>(info.cache_elements_per_token));
  info.context = spec.max_context, info.left_out = spec.left_out;
  return info;
}

ModelInfo info_of(const ModelEntry& entry) {
  ModelInfo info = info_of(entry.spec);
  info.name = entry.name, info.aliases = entry.aliases, info.source = entry.source;
  return info;
}

ModelInfo info_of(const Graph& graph) {
  ModelInfo info;
  info.name = graph.name, info.architecture = "graph";
  info.parameters = info.active_parameters = parameters(graph);
  info.dtype = info.formats = checkpoint_dtype(Model{graph});
  return info;
}

}  // namespace

Result<Count> part_count(std::string_view text, const std::string& field) {
  constexpr Count kMost = Count{1} << 30;  // no real batch or length exceeds it
  const auto value = whole_amount_from(text);
  if (!value || *value < 0 || *value > kMost)
    return field_error(field, fmt::format("'{}' is not a whole number between 0 and {}", text, kMost),
                       amount_remedy(text, "for example 2048"));
  return *value;
}

Result<Model> model_of(const ModelQuery& query) {
  // What is asked of a stream below is asked of its copy; one that gives nothing is waited for once.
  if (is_stream(query.model))
    if (auto copy = openable_path(query.model); !copy) return std::move(copy).error();
  if (query.model.ends_with(".onnx") || is_piped_onnx(query.model)) return onnx_model(query);
  if (!query.dims.empty())
    return field_error("dim", "has no effect: only ONNX files have named dimensions", "leave it out");
  if (query.allow_unknown)
    return field_error("allow-unknown", "has no effect: only ONNX files may hold unknown operators", "leave it out");
  if (is_object_text(query.model) && looks_like_graph_json(query.model)) {
    auto graph = graph_from_json(query.model, "model");
    if (!graph) return std::move(graph).error();
    return Model{*std::move(graph)};
  }
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
  for (const ModelEntry& entry : list_models()) all.push_back(info_of(entry));
  return all;
}

Result<ModelInfo> describe_model(const ModelQuery& query) {
  if (auto fine = check_arguments(query); !fine) return std::move(fine).error();
  const auto model = model_of(query);
  if (!model) return in_field(model.error(), "model");
  if (const auto entry = find_entry(query.model)) return info_of(*entry);
  return std::visit([](const auto& one) { return info_of(one); }, *model);
}

std::vector<std::string> model_classes() { return supported_architectures(); }

const Question& models_question() {
  static const Question question{"models",
                                 "list the models Tilecast knows by name, or show one",
                                 {"models", "models Llama-3.1-8B", "models --classes"}};
  return question;
}

std::vector<BoundArgument> arguments_of(ModelQuery& q) {
  Declare list;
  list.add(q.model, {.name = "model",
                     .help = "a model's name, a Hugging Face config.json or its folder, an .onnx file, or a graph of "
                             "your own (docs/graphs.md)",
                     .example = "Llama-3.1-8B",
                     .required = true,
                     .positional = true,
                     .touches = Touches::model});
  list.add(q.dims, {.name = "dim",
                    .help = "ONNX: name=value of a dynamic dimension; may be repeated",
                    .example = "batch=8",
                    .repeated = true});
  list.add(q.allow_unknown, {.name = "allow-unknown", .help = "ONNX: price unknown operators as memory traffic"});
  return list.take();
}

}  // namespace tilecast
