#include "engine/run.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/any_routing.h"
#include "engine/cache_block.h"
#include "engine/largest.h"
#include "engine/narrow.h"
#include "engine/path.h"
#include "kernel/gemm.h"
#include "kernel/moe.h"
#include "kernel/optimizer.h"
#include "model/build.h"

namespace tilecast {
namespace {

Result<Graph> forward_graph(const Run& run) {
  if (const auto* graph = std::get_if<Graph>(&run.model)) {
    if (run.workload.mode == Mode::decode || run.workload.mode == Mode::mixed)
      return field_error("mode", "a graph with given shapes has one pass only", "prefill or train");
    return *graph;
  }
  return build(std::get<ModelSpec>(run.model), run.workload);
}

Count weight_tensors(const Graph& graph) {
  Count n = 0;
  for (const Section& section : graph.sections)
    for (const Operator& op : section.operators)
      if (op.weights.trained() > 0) n += section.repeats * (op.weights.vector > 0 && op.weights.matrix > 0 ? 2 : 1);
  return std::max<Count>(n, 1);
}

Section optimizer_section(const Graph& forward, const Run& run, Count shards) {
  Optimizer step;
  step.params = std::max<Count>(1, ceil_div(trained_parameters(forward), shards));
  step.kind = run.training.optimizer;
  const bool torch = run.engine.kind == EngineKind::pytorch || run.engine.kind == EngineKind::pytorch_graph;
  step.form = torch ? OptimizerForm::foreach : OptimizerForm::fused;
  if (run.training.fused_optimizer) step.form = OptimizerForm::fused;
  step.tensors = weight_tensors(forward);
  step.master = run.engine.precision.mixed == MixedPrecision::master;
  Section section{"optimizer", 1, Pass::optimizer, {}, {}};
  section.part.kind = SectionKind::optimizer;
  section.operators.push_back({"optimizer", step, {}, {}, {}});
  section.operators.back().role = Role::optimizer;
  return section;
}

// Losses that balance experts keep the tokens of a training step even; in inference, models trained this way meet texts
// that are not balanced.
Status route(Program& program, const EngineOptions& engine, bool train) {
  const Routing routing = engine.routing ? *engine.routing : train ? Routing{} : usual_routing();
  for (KernelCall& call : program.calls)
    if (auto* moe = call.kernel.shape.get_if<Moe>()) {
      auto shape = routed(*moe, routing);
      if (!shape) return std::move(shape).error();
      *moe = *std::move(shape);
    }
  return Ok{};
}

}  // namespace

OpsPerSecond dense_peak(const Gpu& gpu, const Format& format) {
  const auto path = math_path(format, gpu);
  return path ? ops(path->ops_per_clock * gpu.sms) * gpu.clock.quoted : ops(0) / seconds(1);
}

Format multiplied_format(const Run& run, const Gpu& gpu) {
  const bool trains = run.workload.mode == Mode::train;
  const NarrowRecipe* narrow = trains ? narrow_recipe(run.training.options.precision) : nullptr;
  const Format& named = narrow ? narrow->product : run.engine.precision.linear;
  return trains ? named : path_on(gpu, Kernel{Gemm{}, named}, measured_as(run.engine.kind)).format;
}

const std::string& name_of(const Model& model) {
  return std::visit([](const auto& m) -> const std::string& { return m.name; }, model);
}

Result<PreparedRun> prepare(const Run& run) {
  auto graph = forward_graph(run);
  if (!graph) return std::move(graph).error();
  return prepare(run, *graph);
}

Result<PreparedRun> prepare(const Run& run, const Graph& forward, Count shards) {
  const bool train = run.workload.mode == Mode::train;
  if (train && serves(run.engine.kind))
    return field_error("engine", std::string(name_of(run.engine.kind)) + " does not train",
                       "pytorch, pytorch-graph, compile or cudagraph");
  PreparedRun prepared;
  EngineOptions engine = run.engine;
  engine.dropout = engine.dropout && train;
  prepared.forward = arranged(forward, engine);
  if (!train) {
    prepared.program = lower(prepared.forward, engine);
  } else {
    TrainingOptions options = run.training.options;
    options.accumulate = options.accumulate || run.training.accumulation > 1;
    options.micro_batches = run.training.accumulation;
    options.wide_sums = run.training.wide_gradients && !run.training.narrow_exchange;
    Graph step = arranged(forward, engine, &options);
    for (Section& section : step.sections) section.repeats *= run.training.accumulation;
    if (run.training.update) step.sections.push_back(optimizer_section(forward, run, shards));
    prepared.program = lower(step, engine);
    for (KernelCall& call : prepared.program.calls) call.longer *= run.training.longer;
  }
  if (auto fine = route(prepared.program, engine, train); !fine) return std::move(fine).error();
  if (const auto* spec = std::get_if<ModelSpec>(&run.model)) prepared.cache = cache_need(*spec);
  return prepared;
}

Workload profile_workload(const ModelSpec& model, Count tokens) {
  const bool ends = model.decoder && model.decoder->positions == Positions::learned && model.max_context > 0;
  const Count each = ends ? std::min(tokens, model.max_context) : tokens;
  Workload w;
  w.mode = Mode::prefill;
  w.requests = {{std::max<Count>(1, tokens / each), each, 0}};
  return w;
}

bool loads_tower(EngineKind engine) { return engine == EngineKind::vllm || engine == EngineKind::sglang; }

Status add_tower(MemoryNeed& need, const ModelSpec& model, const ModelSpec& encoder, const EngineOptions& engine,
                 Count tokens, const Gpu& gpu) {
  if (!model.tower || !loads_tower(engine.kind)) return Ok{};
  const bool vllm = engine.kind == EngineKind::vllm;
  EngineOptions own = engine;
  const auto precision = precision_of(encoder);
  if (!precision) return precision.error();
  own.precision = *precision, own.routing = {};
  // vllm/v1/core/encoder_cache_manager.py: a step's tokens bound the encoder's, but one item always fits.
  const Count items = vllm ? std::max<Count>(1, tokens / std::max<Count>(1, model.tower->tokens)) : 1;
  Workload images;
  images.requests = {{items * model.tower->passes, encoder.patches->tokens(), 0}};
  const auto graph = build(encoder, images);
  if (!graph) return graph.error();
  const MemoryNeed pass = memory_need(arranged(*graph, own), images, own, std::nullopt, {}, gpu);
  need.weights += pass.weights;
  if (!vllm) return Ok{};
  // The encoded images wait for the text's own step (profile_run); the tower's pass is over by then.
  const double element = engine.precision.activation.activation_bits / 8;
  const Bytes became = bytes(static_cast<double>(items * model.tower->tokens * model.decoder->hidden) * element);
  need.activations = std::max(need.activations + became, pass.activations);
  return Ok{};
}

bool is_budgeted(const Run& run) {
  const auto* spec = std::get_if<ModelSpec>(&run.model);
  return serves(run.engine.kind) && run.workload.mode != Mode::train && spec && spec->decoder && spec->lm_head &&
         !spec->encoder;
}

namespace {

// Weights that stay on the card though a step does not read them: of an encoder, and of what projects its result, once
// that is cached.
Result<Bytes> idle_weights(const ModelSpec& spec, const Workload& workload, const EngineOptions& engine,
                           const Gpu& gpu) {
  if (!spec.encoder || !spec.decoder || workload.mode != Mode::decode) return bytes(0);
  const auto weights = [&](Mode mode) -> Result<Bytes> {
    Workload shortest;
    shortest.mode = mode, shortest.requests = {{1, 1, 0}}, shortest.source_len = 1;
    const auto graph = build(spec, shortest);
    if (!graph) return graph.error();
    return memory_need(arranged(*graph, engine), shortest, engine, std::nullopt, {}, gpu).weights;
  };
  const auto all = weights(Mode::prefill), read = weights(Mode::decode);
  if (!all) return all.error();
  if (!read) return read.error();
  return *all - *read;
}

Result<CacheBudget> budget_of(const Run& run, const Gpu& gpu) {
  const auto& spec = std::get<ModelSpec>(run.model);
  const ServingLimits limits = default_limits(run.engine.kind, gpu);
  const Workload profile = profile_workload(spec, profile_tokens(run.engine.kind, limits));
  const auto graph = build(spec, profile);
  if (!graph) return graph.error();
  MemoryNeed need = memory_need(arranged(*graph, run.engine), profile, run.engine, std::nullopt, {}, gpu);
  if (spec.tower)
    if (auto fine = add_tower(need, spec, *spec.tower->encoder, run.engine, limits.tokens, gpu); !fine)
      return fine.error();
  return cache_budget(run.engine.kind, gpu, limits, need, spec.vocab);
}

}  // namespace

Result<RunMemory> memory_of(const Run& run, const PreparedRun& prepared, const Gpu& gpu) {
  MemoryNeed step = memory_need(prepared.forward, run.workload, run.engine, prepared.cache, run.training, gpu);
  if (const auto* spec = std::get_if<ModelSpec>(&run.model)) {
    const auto idle = idle_weights(*spec, run.workload, run.engine, gpu);
    if (!idle) return idle.error();
    step.weights += *idle;
  }
  if (!is_budgeted(run)) return RunMemory{step, usable_memory(gpu, run.engine.kind), 0};
  const auto budget = budget_of(run, gpu);
  if (!budget) return budget.error();
  const BudgetedNeed both = beside_budget(step, *budget);
  const Count block = cache_block(run.engine.kind, gpu, std::get<ModelSpec>(run.model)).tokens;
  return RunMemory{both.need, both.usable,
                   prepared.cache ? tokens_in(budget->cache, *prepared.cache, run.engine.precision, block) : 0};
}

std::string beyond_context(const Run& run) {
  const auto* spec = std::get_if<ModelSpec>(&run.model);
  if (!spec || spec->max_context <= 0) return "";
  Count longest = 0;
  for (const Requests& r : run.workload.requests) longest = std::max(longest, r.cached + r.new_tokens);
  if (longest <= spec->max_context) return "";
  return fmt::format("{} was made for {} tokens; {} are beyond its context", spec->name, spec->max_context, longest);
}

Result<RunForecast> forecast_run(const Run& run, const PreparedRun& prepared, const Gpu& gpu, Method method,
                                 const ModelSource* weights) {
  auto step = forecast_step(prepared.program, gpu, run.workload.sequences(), method, weights);
  if (!step) return std::move(step).error();
  RunForecast forecast;
  forecast.step = *std::move(step);
  bound_any_routing(forecast.step, prepared.program, gpu);
  const auto memory = memory_of(run, prepared, gpu);
  if (!memory) return memory.error();
  forecast.memory = memory->need, forecast.usable = memory->usable, forecast.cache_tokens = memory->cache_tokens;
  forecast.tokens_per_second =
      static_cast<double>(run.workload.tokens() * run.training.accumulation) / forecast.step.total.base();
  const OpsPerSecond peak = dense_peak(gpu, multiplied_format(run, gpu));
  if (peak.base() > 0) forecast.utilisation = forecast.step.flops / (forecast.step.total.base() * peak.base());
  return forecast;
}

namespace {

Result<bool> fits(const Run& run, const Gpu& gpu, const std::optional<CacheBudget>& budget) {
  std::optional<CacheNeed> cache;
  if (const auto* spec = std::get_if<ModelSpec>(&run.model)) cache = cache_need(*spec);
  // An engine with a budget cuts a step down to its limits: only keys and values grow.
  if (budget) return budget->cache >= (cache ? cache_bytes(*cache, run.workload, run.engine.precision) : bytes(0));
  auto graph = forward_graph(run);
  if (!graph) return std::move(graph).error();
  MemoryNeed need = memory_need(arranged(*graph, run.engine), run.workload, run.engine, cache, run.training, gpu);
  if (const auto* spec = std::get_if<ModelSpec>(&run.model)) {
    const auto idle = idle_weights(*spec, run.workload, run.engine, gpu);
    if (!idle) return idle.error();
    need.weights += *idle;
  }
  return need.total() <= usable_memory(gpu, run.engine.kind);
}

}  // namespace

Result<Largest> largest_that_fits(const Run& run, const Gpu& gpu) {
  std::optional<CacheBudget> budget;
  if (is_budgeted(run)) {
    auto own = budget_of(run, gpu);
    if (!own) return std::move(own).error();
    budget = *std::move(own);
  }
  return largest_where(run, [&](const Run& changed) { return fits(changed, gpu, budget); });
}

}  // namespace tilecast
