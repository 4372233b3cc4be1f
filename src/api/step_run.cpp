#include "api/step_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/declare.h"
#include "api/model_of.h"
#include "api/train_arguments.h"
#include "cluster/comm_constants.h"
#include "cluster/registry.h"
#include "engine/attention_kernel.h"
#include "engine/engine_cards.h"
#include "gpu/registry.h"
#include "kernel/attention_prefill.h"
#include "kernel/optimizer.h"
#include "model/recomputation.h"
#include "parallel/framework.h"
#include "serve/plan.h"
#include "support/text.h"

namespace tilecast {
namespace {

Result<Requests> request_from(std::string_view text) {
  Requests r;
  const std::string field = "requests";
  if (const auto x = text.find('x'); x != std::string_view::npos) {
    const auto count = part_count(text.substr(0, x), field);
    if (!count) return count.error();
    r.count = *count;
    text.remove_prefix(x + 1);
  }
  if (const auto plus = text.find('+'); plus != std::string_view::npos) {
    const auto cached = part_count(text.substr(plus + 1), field);
    if (!cached) return cached.error();
    r.cached = *cached;
    text = text.substr(0, plus);
  }
  const auto fresh = part_count(text, field);
  if (!fresh) return fresh.error();
  r.new_tokens = *fresh;
  if (r.count < 1 || r.new_tokens < 1)
    return field_error(field, "needs requests and new tokens of at least one", "for example 8x1+2048,2x512");
  return r;
}

// Images have no sequence to give; prompts do.
bool has_sequence(const Model& model) {
  const auto* spec = std::get_if<ModelSpec>(&model);
  return spec && !spec->patches && !(spec->audio && !spec->decoder);
}

// Tokens of an encoder before a decoder: of a sound or an image always as many, of a text what is said.
Count source_of(const StepQuery& q, const Model& model) {
  const auto* spec = std::get_if<ModelSpec>(&model);
  if (!spec || !spec->decoder) return q.source;
  if (spec->patches) return spec->patches->tokens();
  return spec->audio ? spec->audio->frames / 2 : q.source;
}

// A prompt's pass may read as many tokens as it writes; a later step's one new token says nothing of the source.
bool lacks_source(const StepQuery& q, const Model& model) {
  const auto* spec = std::get_if<ModelSpec>(&model);
  return q.mode == Mode::decode && spec && spec->encoder && spec->decoder && source_of(q, model) == 0;
}

Result<Workload> workload_of(const StepQuery& q, const Model& model) {
  if (lacks_source(q, model))
    return field_error("source", "is missing: tokens of the text that the encoder has read", "for example 512");
  Workload w;
  w.mode = q.mode, w.source_len = source_of(q, model), w.all_logits = q.all_logits, w.keep_cache = q.keep_cache;
  if (!q.requests.empty()) {
    auto requests = requests_from(q.requests);
    if (!requests) return std::move(requests).error();
    w.requests = *std::move(requests);
    return w;
  }
  const Count batch = q.global_batch.value_or(q.batch);
  if (q.mode == Mode::decode) {
    if (q.context == 0) return field_error("context", "is missing: tokens already cached", "for example 2048");
    w.requests = {{batch, q.new_tokens, q.context}};
    return w;
  }
  if (q.seq == 0 && has_sequence(model))
    return field_error("seq", "is missing: tokens of a sequence", "for example 2048");
  if (q.mode == Mode::train && q.documents > 1) {
    if (q.seq % q.documents != 0)
      return field_error("documents", fmt::format("{} do not divide a sequence of {} tokens", q.documents, q.seq),
                         "a divisor of seq");
    // To every operator but attention a packed sequence is one; to attention each document is.
    w.requests = {{batch * q.documents, q.seq / q.documents, 0}};
    return w;
  }
  w.requests = {{batch, std::max<Count>(q.seq, 1), q.context}};
  return w;
}

// The framework's recipe; without one, what holds for plain PyTorch.
FrameworkRecipe recipe_for(const StepQuery& q) {
  if (q.framework && q.mode == Mode::train) return recipe_of(*q.framework);
  FrameworkRecipe plain;
  plain.mixed = MixedPrecision::none;
  return plain;
}

// Naming modules, or layers, says which kind it is.
Recomputation recomputation_of(const StepQuery& q, const FrameworkRecipe& recipe) {
  if (!q.recompute_modules.empty()) {
    Recomputation by_module(std::initializer_list<RecomputeModule>{});
    for (std::size_t i = 0; i < kRecomputeModuleNames.size(); ++i)
      by_module.modules[i] = std::find(q.recompute_modules.begin(), q.recompute_modules.end(),
                                       kRecomputeModuleNames[i]) != q.recompute_modules.end();
    return by_module;
  }
  Recomputation recompute = q.recompute ? Recomputation(*q.recompute) : recipe.recompute;
  if (q.recompute_every) recompute = Recompute::alternate, recompute.every = *q.recompute_every;
  return recompute;
}

// Whether the model has what is to run again by itself.
Status check_modules(const StepQuery& q, const Model& model) {
  const auto* spec = std::get_if<ModelSpec>(&model);
  if (q.recompute_modules.empty()) return Ok{};
  if (!spec)
    return field_error("recompute-modules", "needs a model known by its configuration, not a graph of given shapes",
                       "recompute full, or leave it out");
  const std::vector<RecomputeModule> known = modules_in(*spec);
  std::vector<std::string> names;
  names.reserve(known.size());
  for (const RecomputeModule m : known) names.emplace_back(name_of(m));
  for (const std::string& module : q.recompute_modules)
    if (std::find(names.begin(), names.end(), module) == names.end())
      return field_error("recompute-modules", fmt::format("layers of {} have no {}", spec->name, module),
                         fmt::format("it has {}", join(names, ", ")));
  return Ok{};
}

TrainingSetup training_of(const StepQuery& q, const FrameworkRecipe& recipe) {
  TrainingSetup t;
  t.options.recompute = recomputation_of(q, recipe);
  t.options.gradient_sum = recipe.gradient_sum;
  t.options.stops_early = recipe.stops_early;
  switch (q.optimizer) {
    case TrainingOptimizer::adamw: t.optimizer = OptimizerKind::adamw; break;
    case TrainingOptimizer::adam: t.optimizer = OptimizerKind::adam; break;
    case TrainingOptimizer::sgd: t.optimizer = OptimizerKind::sgd; break;
  }
  t.accumulation = q.accumulate, t.update = q.update;
  t.fused_optimizer = q.fused_optimizer.value_or(recipe.fused_optimizer);
  t.narrow_exchange = recipe.narrow_exchange;
  t.offload = q.offload;
  t.wide_gradients = q.framework ? q.wide_gradients.value_or(recipe.wide_gradients)
                                 : q.over_many() && q.wide_gradients.value_or(false);
  return t;
}

EngineKind engine_kind_of(const StepQuery& q, const Model& model) {
  const bool serving = q.mode != Mode::train && generates(model);
  return q.engine.value_or(serving ? EngineKind::vllm : recipe_for(q).engine);
}

// The framework's modules, where it has some.
void set_modules(EngineOptions& engine, const StepQuery& q, const FrameworkRecipe& recipe) {
  const AttentionForm attention = q.attention.value_or(recipe.attention);
  engine.eager_attention = attention == AttentionForm::eager;
  engine.math_attention = attention == AttentionForm::math;
  if (!engine.eager_attention && !engine.math_attention) engine.attention = attention;
  engine.fused_norms = q.fused_norms.value_or(recipe.fused_norms);
  engine.merged_projections = q.merged_projections.value_or(recipe.merged_projections);
  engine.fused_layers = recipe.fused_layers, engine.narrow_norms = recipe.narrow_norms, engine.loss = recipe.loss;
}

Result<EngineOptions> engine_of(const StepQuery& q, const Model& model) {
  const FrameworkRecipe recipe = recipe_for(q);
  const MixedPrecision mixed = q.mixed.value_or(recipe.mixed);
  // Mixed precision is a 16-bit format over fp32 parameters, whatever the checkpoint was saved in.
  const std::string dtype = q.dtype.empty() && mixed != MixedPrecision::none ? "bf16" : q.dtype;
  const auto* spec = std::get_if<ModelSpec>(&model);
  auto precision = spec ? precision_of(*spec, dtype, q.kv_dtype)
                        : precision_from(dtype.empty() ? checkpoint_dtype(model) : dtype, q.kv_dtype);
  if (!precision) return std::move(precision).error();
  if (q.era == EngineEra::year_2023)
    return field_error("era", "must be current or 2024, not '2023'", "leave it out for today's releases");
  EngineOptions engine;
  engine.kind = engine_kind_of(q, model);
  engine.precision = *std::move(precision);
  engine.precision.mixed = mixed;
  if (!q.routing.empty()) {
    auto routing = routing_from(q.routing);
    if (!routing) return std::move(routing).error();
    engine.routing = *std::move(routing);
  }
  set_modules(engine, q, recipe);
  if (!q.torch.empty()) {
    const auto torch = torch_from(q.torch);
    if (!torch) return torch.error();
    engine.torch = *torch;
  }
  engine.dropout = q.dropout, engine.era = q.framework && q.era == EngineEra::current ? recipe.era : q.era;
  engine.static_cache = q.static_cache, engine.wide_rotation = q.wide_rotation;
  return engine;
}

// What a card decides of attention: a kernel asked for by name must exist there; where PyTorch has no fused kernel for
// the format (bf16 before Ampere), plain products run.
Status set_attention(const StepQuery& q, const Gpu& gpu, Run& run) {
  EngineOptions& engine = run.engine;
  const Format& format = engine.precision.attention;
  if (q.attention)
    if (auto fine = check_attention(*q.attention, engine.kind, gpu, format); !fine) return fine;
  if (q.attention == AttentionForm::triton && run.workload.mode == Mode::train)
    return field_error("attention", "nothing is known of the gradient of Triton's attention", "fused or flash2");
  if (serves(engine.kind)) return Ok{};
  if (engine.eager_attention || q.attention.value_or(AttentionForm::fused) != AttentionForm::fused) return Ok{};
  AttentionPrefill usual;
  usual.head_dim = 64;
  const PyTorchVersion torch = engine.torch.value_or(torch_of(engine.era));
  engine.math_attention |= torch_attention(gpu, usual, format, torch) == AttentionForm::math;
  return Ok{};
}

// Sequences of a micro-batch; 0: all that a rank has.
Count micro_batch_of(const StepQuery& q, const Run& run) {
  if (q.micro_batch) return *q.micro_batch * q.documents;
  // `accumulate` says how many micro-batches there are, where their size is not given.
  if (run.workload.mode != Mode::train || q.accumulate <= 1) return 0;
  return std::max<Count>(1, run.workload.sequences() / q.layout.dp / q.accumulate);
}

std::string_view item_of(const Model& model) {
  const auto* spec = std::get_if<ModelSpec>(&model);
  if (spec && spec->patches) return "image";
  return spec && spec->audio && !spec->decoder ? "clip" : "token";
}

// Where both are named, the card must be the cluster's.
Status check_gpu_of(const Cluster& cluster, const Result<Gpu>& gpu) {
  if (!gpu) return in_field(gpu.error(), "gpu");
  if (gpu->name == cluster.gpu.name) return Ok{};
  return field_error("gpu", gpu->name + " is not the GPU of the cluster " + cluster.name + ", " + cluster.gpu.name,
                     "give one of the two");
}

// Everything of a query but what says where and how it is priced.
std::string key_of(StepQuery query) {
  std::string key;
  for (const BoundArgument& argument : arguments_of(query)) {
    const std::string& name = argument.about.name;
    if (name == "gpu" || name == "method" || name == "weights") continue;
    key += argument.get() + '\n';
  }
  return key;
}

template <class Key, class Value, class Make>
const Value& remembered(std::map<Key, Value>& known, const Key& key, const Make& make) {
  const auto at = known.find(key);
  return at != known.end() ? at->second : known.emplace(key, make()).first->second;
}

bool routes_tokens(const Model& model) {
  if (const auto* spec = std::get_if<ModelSpec>(&model)) return has_experts(*spec);
  for (const Section& section : std::get<Graph>(model).sections)
    for (const Operator& op : section.operators)
      if (op.shape.is<Moe>()) return true;
  return false;
}

// Nothing was given that the answer would leave out.
Status scopes_hold(const StepQuery& q, const Model& model) {
  if (q.mode == Mode::mixed && q.requests.empty())
    return field_error("mode", "mixed needs requests", "for example 8x1+2048,2x512");
  const auto* spec = std::get_if<ModelSpec>(&model);
  const auto yes = [](bool holds) { return std::string(holds ? "yes" : "no"); };
  return check_scopes(q, {{"engine", std::string(name_of(engine_kind_of(q, model)))},
                          {"gpus", q.over_many() ? "many" : "one"},
                          {"shapes", spec ? "free" : "given"},
                          {"sources", yes(spec && spec->encoder && spec->decoder)},
                          {"experts", yes(routes_tokens(model))}});
}

}  // namespace

Result<std::vector<Requests>> requests_from(std::string_view text) {
  std::vector<Requests> all;
  for (const std::string& part : split(text, ',')) {
    const auto one = request_from(part);
    if (!one) return one.error();
    all.push_back(*one);
  }
  return all;
}

Result<Run> run_of(const StepQuery& query, const Model& model) {
  auto workload = workload_of(query, model);
  if (!workload) return std::move(workload).error();
  auto engine = engine_of(query, model);
  if (!engine) return std::move(engine).error();
  Run run{model, *std::move(workload), *std::move(engine), training_of(query, recipe_for(query))};
  if (query.mode == Mode::train) {
    if (auto fine = check_modules(query, model); !fine) return std::move(fine).error();
    if (auto fine = apply(query.train, run); !fine) return std::move(fine).error();
  }
  return run;
}

RankLayout layout_of(const StepQuery& q) {
  RankLayout layout = q.layout;
  if (is_v(layout.schedule) && layout.chunks == 1) layout.chunks = 2;
  if (!q.framework || q.mode != Mode::train) return layout;
  const FrameworkRecipe& recipe = recipe_of(*q.framework);
  if (!q.given.sharding && layout.sharding == Sharding::none && layout.replicas() > 1)
    layout.sharding = recipe.sharding;
  if (!q.given.sequence_parallel && layout.tp > 1) layout.sequence_parallel = recipe.sequence_parallel;
  if (!q.given.tensor_overlap) layout.tensor_overlap = recipe.tensor_overlap;
  const bool beside_shards = recipe.shard_overlap && layout.sharding == Sharding::parameters;
  if (!q.given.overlap) layout.overlap = recipe.overlap || beside_shards;
  layout.gather_overlap = recipe.gather_overlap || beside_shards;
  return layout;
}

StepSetting setting_of(const Run& run) {
  StepSetting s;
  s.model = name_of(run.model);
  s.mode = run.workload.mode, s.requests = run.workload.requests;
  s.item = item_of(run.model), s.given_shapes = std::holds_alternative<Graph>(run.model);
  if (const auto* spec = std::get_if<ModelSpec>(&run.model)) s.left_out = spec->left_out;
  s.engine = run.engine.kind, s.dtype = text_of(run.engine.precision);
  if (const TrainPrecision precision = run.training.options.precision; precision != TrainPrecision::none)
    s.dtype += ", " + std::string(name_of(precision));
  return s;
}

std::vector<std::string> notes_on(const AskedStep& asked) {
  std::vector<std::string> notes;
  if (std::string beyond = beyond_context(asked.run); !beyond.empty()) notes.push_back(std::move(beyond));
  if (const auto* spec = std::get_if<ModelSpec>(&asked.run.model); spec && asked.run.engine.precision.as_checkpoint)
    notes.insert(notes.end(), spec->quantization_notes.begin(), spec->quantization_notes.end());
  if (asked.cluster)
    if (std::string plain = plain_node_note(*asked.cluster); !plain.empty()) notes.push_back(std::move(plain));
  return notes;
}

StepPricing pricing_of(const ChosenMethod& chosen) {
  StepPricing with;
  with.method = chosen.method, with.weights = chosen.weights(), with.links = &shipped_comm_constants();
  return with;
}

const Result<Model>& StepLookups::model(const StepQuery& q) {
  const std::string key = q.model + '\n' + joined(q.dims) + (q.allow_unknown ? "\n+" : "\n");
  return remembered(models_, key, [&] { return model_of({q.model, q.dims, q.allow_unknown}); });
}

const Result<Gpu>& StepLookups::gpu(const std::string& name) {
  return remembered(gpus_, name, [&] { return load_gpu(name); });
}

const Result<Cluster>& StepLookups::cluster(const std::string& name, int ranks) {
  return remembered(clusters_, std::pair(name, ranks), [&] { return cluster_of(name, ranks); });
}

const Result<ChosenMethod>& StepLookups::method(Method method, const std::string& weights) {
  return remembered(methods_, std::pair(method, weights), [&] { return chosen_method(method, weights); });
}

const Result<PreparedRun>& StepLookups::prepared(const StepQuery& query, const Run& run) {
  // The card decides nothing of a graph but whether attention is plain products.
  const std::string key = key_of(query) + (run.engine.math_attention ? "math" : "");
  return remembered(prepared_, key, [&] { return prepare(run); });
}

Status StepLookups::place(const StepQuery& q, AskedStep& asked) {
  StepSetting& s = asked.setting;
  if (!q.over_many()) {
    if (q.gpu.empty()) return field_error("gpu", "is missing", "for example H100-SXM");
    const Result<Gpu>& card = gpu(q.gpu);
    if (!card) return in_field(card.error(), "gpu");
    asked.gpu = &*card;
    s.gpu = card->name, s.gpu_memory = card->dram.size;
    return Ok{};
  }
  if (q.cluster.empty() && q.gpu.empty()) return field_error("cluster", "is missing", "for example hgx-h100");
  const int ranks = q.layout.ranks();
  const Result<Cluster>& found = cluster(q.cluster.empty() ? fmt::format("{}x{}", ranks, q.gpu) : q.cluster, ranks);
  if (!found) return in_field(found.error(), q.cluster.empty() ? "gpu" : "cluster");
  if (!q.cluster.empty() && !q.gpu.empty())
    if (auto same = check_gpu_of(*found, gpu(q.gpu)); !same) return same;
  asked.cluster = &*found;
  s.gpu = found->gpu.name, s.gpu_memory = found->gpu.dram.size;
  s.cluster = found->name, s.gpus = ranks, s.gpus_per_node = found->gpus_per_node;
  return Ok{};
}

Result<AskedStep> StepLookups::described(const StepQuery& query) {
  if (auto fine = check_arguments(query); !fine) return std::move(fine).error();
  if (auto fine = check_sizes(query.layout); !fine) return std::move(fine).error();
  AskedStep asked;
  if (auto fine = place(query, asked); !fine) return std::move(fine).error();
  const Result<Model>& found = model(query);
  if (!found) return in_field(found.error(), "model");
  if (auto fine = scopes_hold(query, *found); !fine) return std::move(fine).error();
  auto run = run_of(query, *found);
  if (!run) return std::move(run).error();
  const Gpu& card = asked.gpu ? *asked.gpu : asked.cluster->gpu;
  if (auto fine = set_attention(query, card, *run); !fine) return std::move(fine).error();
  asked.run = *std::move(run);
  StepSetting s = setting_of(asked.run);
  s.gpu = asked.setting.gpu, s.gpu_memory = asked.setting.gpu_memory, s.cluster = asked.setting.cluster;
  s.gpus = asked.setting.gpus, s.gpus_per_node = asked.setting.gpus_per_node, s.layout = layout_of(query);
  asked.setting = std::move(s);
  if (query.framework && recipe_of(*query.framework).balanced_stages && query.layout.stage_layers.empty())
    if (const auto* spec = std::get_if<ModelSpec>(&asked.run.model); spec && asked.setting.layout.pp > 1)
      asked.setting.layout.stage_layers = layers_by_cost(*spec, asked.setting.layout.virtual_stages());
  if (asked.cluster) asked.micro_batch = micro_batch_of(query, asked.run);
  return asked;
}

Result<AskedStep> StepLookups::asked(const StepQuery& query) {
  auto asked = described(query);
  if (!asked) return asked;
  const Gpu& card = asked->gpu ? *asked->gpu : asked->cluster->gpu;
  if (auto fine = check_card_of(asked->run.engine.kind, card); !fine) return std::move(fine).error();
  if (auto fine = check_card(query.train, card); !fine) return std::move(fine).error();
  return asked;
}

}  // namespace tilecast
