// From flags to runs.
#include <fmt/format.h>

#include <charconv>
#include <filesystem>

#include "cli/commands/chosen_method.h"
#include "cli/commands/predict_command.h"
#include "gpu/registry.h"
#include "model/graph_file.h"
#include "model/library.h"
#include "model/onnx.h"
#include "support/file.h"
#include "support/input.h"
#include "support/mapped_file.h"
#include "support/number.h"
#include "support/text.h"

namespace tilecast {
namespace {

Error flag_error(std::string flag, std::string problem, std::string remedy = {}) {
  return Error{std::move(flag), "", std::move(problem), std::move(remedy)};
}

// No real batch, length or number of micro-batches exceeds this.
constexpr Count kMost = Count{1} << 30;

Result<Count> count_from(std::string_view text, const std::string& flag) {
  const auto value = number_between<Count>(text, 0, kMost);
  if (!value)
    return flag_error(flag, fmt::format("'{}' is no whole number between 0 and {}", text, kMost));
  return *value;
}

// "8x1+2048": eight requests of one new token after 2048 cached ones.
Result<Requests> request_from(std::string_view text) {
  Requests r;
  const std::string flag = "--requests";
  if (const auto x = text.find('x'); x != std::string_view::npos) {
    const auto count = count_from(text.substr(0, x), flag);
    if (!count) return count.error();
    r.count = *count;
    text.remove_prefix(x + 1);
  }
  if (const auto plus = text.find('+'); plus != std::string_view::npos) {
    const auto cached = count_from(text.substr(plus + 1), flag);
    if (!cached) return cached.error();
    r.cached = *cached;
    text = text.substr(0, plus);
  }
  const auto fresh = count_from(text, flag);
  if (!fresh) return fresh.error();
  r.new_tokens = *fresh;
  if (r.count < 1 || r.new_tokens < 1)
    return flag_error(flag, "needs requests and new tokens of at least one", "for example 8x1+2048,2x512");
  return r;
}

Result<Mode> mode_from(const std::string& name) {
  for (const Mode mode : {Mode::prefill, Mode::decode, Mode::mixed, Mode::train})
    if (name == name_of(mode)) return mode;
  return flag_error("--mode", "must be prefill, decode, mixed or train, not '" + name + "'");
}

Status check_range(Count value, const char* flag, Count least) {
  if (value >= least && value <= kMost) return Ok{};
  return flag_error(flag, fmt::format("must lie between {} and {}, not {}", least, kMost, value));
}

Result<Workload> workload_from(const PredictOptions& o) {
  Workload w;
  const auto mode = mode_from(o.mode);
  if (!mode) return mode.error();
  w.mode = *mode;
  for (const auto& [value, flag, least] : {std::tuple(o.batch, "--batch", Count{1}),
                                           {o.seq, "--seq", 0},
                                           {o.context, "--context", 0},
                                           {o.new_tokens, "--new-tokens", 1},
                                           {o.source, "--source", 0}})
    if (auto fine = check_range(value, flag, least); !fine) return std::move(fine).error();
  w.source_len = o.source;
  w.all_logits = o.all_logits;
  w.keep_cache = !o.no_cache;
  if (!o.requests.empty()) {
    for (const std::string& part : split(o.requests, ',')) {
      auto r = request_from(part);
      if (!r) return std::move(r).error();
      w.requests.push_back(*r);
    }
    if (w.mode == Mode::train) return flag_error("--requests", "has no meaning in training", "use --batch and --seq");
    return w;
  }
  if (w.mode == Mode::mixed)
    return flag_error("--mode", "mixed needs --requests", "for example --requests 8x1+2048,2x512");
  if (w.mode == Mode::decode) {
    if (o.context == 0)
      return flag_error("--context", "is missing: tokens already cached", "for example --context 2048");
    w.requests = {{o.batch, o.new_tokens, o.context}};
  } else {
    w.requests = {{o.batch, o.seq > 0 ? o.seq : 0, o.context}};
  }
  return w;
}

Result<TrainingSetup> training_from(const PredictOptions& o) {
  TrainingSetup t;
  if (o.recompute == "full") t.options.recompute = Recompute::full;
  else if (o.recompute != "none") return flag_error("--recompute", "must be none or full, not '" + o.recompute + "'");
  if (o.optimizer == "sgd") t.optimizer = OptimizerKind::sgd;
  else if (o.optimizer == "adam") t.optimizer = OptimizerKind::adam;
  else if (o.optimizer != "adamw")
    return flag_error("--optimizer", "must be adamw, adam or sgd, not '" + o.optimizer + "'");
  if (auto fine = check_range(o.accumulation, "--accumulate", 1); !fine) return std::move(fine).error();
  t.accumulation = o.accumulation;
  t.update = !o.no_update;
  t.fused_optimizer = o.fused_optimizer;
  return t;
}

Result<EngineEra> era_from(const std::string& name) {
  if (name == "current") return EngineEra::current;
  if (name == "2024") return EngineEra::year_2024;
  return flag_error("--era", "must be current or 2024, not '" + name + "'");
}

Result<MixedPrecision> mixed_from(const std::string& name) {
  if (name == "none") return MixedPrecision::none;
  if (name == "autocast") return MixedPrecision::autocast;
  if (name == "master") return MixedPrecision::master;
  return flag_error("--mixed", "must be none, autocast or master, not '" + name + "'");
}

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

Result<Model> model_from(const PredictOptions& o) {
  if (o.model.ends_with(".onnx") || is_piped_onnx(o.model)) {
    OnnxOptions options;
    options.allow_unknown = o.allow_unknown;
    for (const std::string& dim : o.dims) {
      const auto equals = dim.find('=');
      if (equals == std::string::npos) return flag_error("--dim", "'" + dim + "' is no name=value");
      const auto value = count_from(std::string_view(dim).substr(equals + 1), "--dim " + dim.substr(0, equals));
      if (!value) return value.error();
      options.dims[dim.substr(0, equals)] = *value;
    }
    auto graph = graph_from_onnx(o.model, options);
    if (!graph) return std::move(graph).error();
    return Model{*std::move(graph)};
  }
  if (!o.dims.empty()) return flag_error("--dim", "has a meaning for ONNX files only");
  if (is_graph_file(o.model)) {
    auto graph = graph_from_json_file(o.model);
    if (!graph) return std::move(graph).error();
    return Model{*std::move(graph)};
  }
  auto spec = find_model(o.model);
  if (!spec) return std::move(spec).error();
  return Model{*std::move(spec)};
}

// What a run needs when nothing is said: the checkpoint's own format; an engine that serves, or trains.
std::string default_dtype(const Model& model) {
  const auto* spec = std::get_if<ModelSpec>(&model);
  if (!spec) return "bf16";
  return spec->quantization.empty() ? spec->dtype : spec->quantization;
}

// Images have no sequence to give; prompts do.
Status check_lengths(const Model& model, Workload& w) {
  const auto* spec = std::get_if<ModelSpec>(&model);
  for (Requests& r : w.requests) {
    if (r.new_tokens > 0) continue;
    if (!spec || spec->patches || (spec->audio && !spec->decoder)) r.new_tokens = 1;
    else return flag_error("--seq", "is missing: tokens of a sequence", "for example --seq 2048");
  }
  return Ok{};
}

}  // namespace

Result<std::vector<Run>> runs_from(const PredictOptions& o) {
  auto model = model_from(o);
  if (!model) return std::move(model).error();
  auto workload = workload_from(o);
  if (!workload) return std::move(workload).error();
  if (auto fine = check_lengths(*model, *workload); !fine) return std::move(fine).error();
  auto training = training_from(o);
  if (!training) return std::move(training).error();
  const auto mixed = mixed_from(o.mixed);
  if (!mixed) return mixed.error();
  const auto era = era_from(o.era);
  if (!era) return era.error();
  if (o.attention != "fused" && o.attention != "eager")
    return flag_error("--attention", "must be fused or eager, not '" + o.attention + "'");
  std::vector<std::string> dtypes = o.dtypes, engines = o.engines;
  // Mixed precision is a 16-bit format over fp32 parameters, whatever the checkpoint was saved in.
  if (dtypes.empty()) dtypes = {*mixed == MixedPrecision::none ? default_dtype(*model) : "bf16"};
  const bool serving = workload->mode != Mode::train && std::holds_alternative<ModelSpec>(*model) &&
                       std::get<ModelSpec>(*model).decoder && std::get<ModelSpec>(*model).lm_head;
  if (engines.empty()) engines = {serving ? "vllm" : "pytorch"};
  std::vector<Run> runs;
  for (const std::string& engine : engines)
    for (const std::string& dtype : dtypes) {
      Run run{*model, *workload, {}, *training};
      const auto kind = engine_from(engine);
      if (!kind) return kind.error();
      auto precision = precision_from(dtype, o.kv_dtype);
      if (!precision) return std::move(precision).error();
      run.engine.kind = *kind;
      run.engine.precision = *std::move(precision);
      run.engine.precision.mixed = *mixed;
      run.engine.eager_attention = o.attention == "eager";
      run.engine.dropout = o.dropout;
      run.engine.era = *era;
      run.engine.static_cache = o.static_cache;
      run.engine.fused_norms = o.fused_norms;
      runs.push_back(std::move(run));
    }
  return runs;
}

Result<std::vector<Variant>> forecast_variants(const PredictOptions& o) {
  const auto chosen = chosen_method(o.method, o.weights);
  if (!chosen) return chosen.error();
  if (o.gpus.empty()) return flag_error("--gpu", "is missing", "for example --gpu H100-SXM,B200");
  auto runs = runs_from(o);
  if (!runs) return std::move(runs).error();
  std::vector<Gpu> gpus;
  for (const std::string& name : o.gpus) {
    auto gpu = load_gpu(name);
    if (!gpu) return std::move(gpu).error();
    gpus.push_back(*std::move(gpu));
  }
  std::vector<Variant> variants;
  for (const Run& run : *runs) {
    const auto prepared = prepare(run);
    for (const Gpu& gpu : gpus) {
      Variant v{gpu, run, {}, {}};
      if (prepared) v.prepared = *prepared;
      auto forecast = prepared ? forecast_run(run, *prepared, gpu, chosen->method, chosen->weights())
                               : Result<RunForecast>(prepared.error());
      if (forecast) v.forecast = *std::move(forecast);
      else v.refused = std::move(forecast).error();
      variants.push_back(std::move(v));
    }
  }
  if (those_that_run(variants).empty()) return *variants.front().refused;
  return variants;
}

std::vector<Variant> those_that_run(const std::vector<Variant>& variants) {
  std::vector<Variant> running;
  for (const Variant& v : variants)
    if (!v.refused) running.push_back(v);
  return running;
}

}  // namespace tilecast
