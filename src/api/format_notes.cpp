#include "api/format_notes.h"

#include "cluster/registry.h"
#include "engine/path.h"
#include "parallel/split.h"
#include "serve/plan.h"

namespace tilecast {
namespace {

// The time of all calls of a step.
Result<Seconds> step_time(const DeploymentOptions& options, const Workload& workload, const ChosenMethod& method) {
  const StepPricer pricer =
      options.spread ? price_over(options.model, options.engine, *options.spread, method.method, method.weights())
                     : price_on(options.model, options.engine, options.gpu, method.method, method.weights());
  const auto calls = pricer.calls(workload, {});
  if (!calls) return calls.error();
  Seconds sum;
  for (const CallTime& call : *calls) sum += call.cool;
  return sum;
}

// What is left out of a model's cache is asked of its geometry.
std::string prefix_note(const DeploymentOptions& options) {
  const KvGeometry geometry =
      geometry_of(cache_need(options.model), options.engine.precision, block_tokens_of(options));
  if (!options.reuse || options.static_batches || reuses_prefixes(options.engine.kind, geometry)) return {};
  return "prefixes are not cached: " + std::string(name_of(options.engine.kind)) +
         " leaves it off for models with linear attention";
}

void add(std::string note, std::vector<std::string>& notes) {
  if (!note.empty()) notes.push_back(std::move(note));
}

std::vector<std::string> served_notes(const Precision& own, bool experts, const Gpu& gpu, EngineKind engine) {
  std::vector<std::string> notes = path_notes(own, experts, gpu, engine);
  add(emulated_note(own, gpu), notes);
  return notes;
}

// Where tokens are few, how they spread says how many experts are read: evenly, as many as can be. What is assumed of
// it is said there.
std::string routing_note(const Run& run, const ModelSpec& model) {
  constexpr Count kFew = 4;  // visits an expert; beyond them nearly all are read however tokens spread
  if (run.engine.routing || !model.decoder) return {};
  for (const LayerRun& layers : model.decoder->layers) {
    const auto* moe = std::get_if<MoeSpec>(&layers.layer.feed_forward);
    if (moe && run.workload.tokens() > 1 && run.workload.tokens() * moe->topk < kFew * moe->experts)
      return "tokens are taken to visit experts by a power law (routing power:1.2), which reads fewer of them than an "
             "even spread would (routing uniform)";
  }
  return {};
}

}  // namespace

std::vector<std::string> rank_notes(const Run& run, const RankLayout& layout, const Gpu& gpu) {
  const auto* model = std::get_if<ModelSpec>(&run.model);
  if (!model || !serves(run.engine.kind) || run.workload.mode == Mode::train) return {};
  std::vector<std::string> notes = served_notes(run.engine.precision, has_experts(*model), gpu, run.engine.kind);
  add(refused_blocks(rank_spec(*model, layout), run.engine.precision, run.engine.kind), notes);
  add(routing_note(run, *model), notes);
  return notes;
}

std::vector<std::string> format_notes(const Run& run, const Gpu& gpu, Seconds step, const ChosenMethod& method) {
  const auto* model = std::get_if<ModelSpec>(&run.model);
  if (!model || !serves(run.engine.kind) || run.workload.mode == Mode::train) return {};
  const bool experts = has_experts(*model);
  const Precision& own = run.engine.precision;
  std::vector<std::string> notes = served_notes(own, experts, gpu, run.engine.kind);
  add(routing_note(run, *model), notes);
  std::vector<TimedFormat> wider;
  for (const Precision& precision : wider_formats(own, experts, gpu, run.engine.kind)) {
    Run other = run;
    other.engine.precision = precision;
    const auto prepared = prepare(other);
    if (!prepared) continue;
    const auto priced = forecast_run(other, *prepared, gpu, method.method, method.weights());
    if (priced) wider.push_back({precision, priced->step.total});
  }
  if (std::string note = slower_than_wider({own, step}, wider); !note.empty()) notes.push_back(std::move(note));
  return notes;
}

std::vector<std::string> deployment_notes(const DeploymentOptions& options, const ChosenMethod& method) {
  const bool experts = has_experts(options.model);
  const Precision& own = options.engine.precision;
  std::vector<std::string> notes = served_notes(own, experts, options.gpu, options.engine.kind);
  if (own.as_checkpoint)
    for (const std::string& note : options.model.quantization_notes) add(note, notes);
  if (options.spread) add(plain_node_note(options.spread->cluster), notes);
  if (options.spread)
    add(refused_blocks(rank_spec(options.model, options.spread->layout), own, options.engine.kind), notes);
  Workload answers;
  answers.mode = Mode::decode;
  answers.requests = {{64, 1, 1024}};
  std::vector<TimedFormat> wider;
  const auto time = step_time(options, answers, method);
  for (const Precision& precision : wider_formats(own, experts, options.gpu, options.engine.kind)) {
    DeploymentOptions other = options;
    other.engine.precision = precision;
    if (const auto taken = step_time(other, answers, method)) wider.push_back({precision, *taken});
  }
  if (time)
    if (std::string note = slower_than_wider({own, *time}, wider); !note.empty()) notes.push_back(std::move(note));
  if (std::string note = prefix_note(options); !note.empty()) notes.push_back(std::move(note));
  return notes;
}

}  // namespace tilecast
