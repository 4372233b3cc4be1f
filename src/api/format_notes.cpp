#include "api/format_notes.h"

#include <fmt/format.h>

#include "api/fit_notes.h"
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
// Where the engine does not take the blocks that were asked for.
std::string block_note(const DeploymentOptions& options) {
  const CacheBlock block = block_of(options);
  if (options.block_tokens == 0 || block.kernel.empty()) return {};
  return fmt::format("{} takes blocks of {} tokens, not {}, for {}", name_of(options.engine.kind), block.tokens,
                     options.block_tokens, block.kernel);
}

std::string prefix_note(const DeploymentOptions& options) {
  const KvGeometry geometry =
      geometry_of(cache_need(options.model), options.engine.precision, block_of(options).tokens);
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

// What a serving engine does in its own way; PyTorch runs formats as they are called.
std::vector<std::string> engine_notes(const Run& run, const ModelSpec& model, const Gpu& gpu) {
  if (!serves(run.engine.kind)) return {};
  std::vector<std::string> notes = served_notes(run.engine.precision, has_experts(model), gpu, run.engine.kind);
  add(routing_note(run, model), notes);
  return notes;
}

// The formats that a run's own is compared with, each timed by `time_in`; those that cannot be are left out.
template <class TimeIn>
std::string slower_note(const Precision& own, Seconds time, bool experts, const Gpu& gpu, EngineKind engine,
                        const TimeIn& time_in) {
  std::vector<TimedFormat> wider;
  for (const Precision& precision : wider_formats(own, experts, gpu, engine))
    if (const std::optional<Seconds> taken = time_in(precision))
      wider.push_back({precision, *taken, path_flags(precision, experts, gpu, engine)});
  return slower_than_wider({own, time}, wider);
}

// The steps of a served load that formats are compared by: one that answers alone take, one of a prompt alone.
struct ComparedStep {
  std::string name;
  Workload workload;
};
std::vector<ComparedStep> compared_steps(const ServedSteps& steps) {
  std::vector<ComparedStep> compared;
  const auto add_step = [&](std::string name, Mode mode, Requests requests) {
    Workload workload;
    workload.mode = mode, workload.requests = {requests};
    compared.push_back({std::move(name), std::move(workload)});
  };
  if (steps.answers > 0)
    add_step(fmt::format("a step of {} answer{} after {} tokens", steps.answers, steps.answers == 1 ? "" : "s",
                         steps.context),
             Mode::decode, {steps.answers, 1, steps.context});
  if (steps.prompt > 0)
    add_step(fmt::format("a prompt of {} tokens", steps.prompt), Mode::prefill, {1, steps.prompt, 0});
  return compared;
}

}  // namespace

std::vector<std::string> rank_notes(const ParallelRun& asked, const Cluster& cluster, Seconds step,
                                    const StepPricing& pricing) {
  const Run& run = asked.run;
  const Gpu& gpu = cluster.gpu;
  const auto* model = std::get_if<ModelSpec>(&run.model);
  if (!model || run.workload.mode == Mode::train) return {};
  const bool experts = has_experts(*model);
  const Precision& own = run.engine.precision;
  std::vector<std::string> notes = engine_notes(run, *model, gpu);
  add(refused_blocks(rank_spec(*model, asked.layout), own, run.engine.kind), notes);
  const auto time_in = [&](const Precision& precision) -> std::optional<Seconds> {
    ParallelRun other = asked;
    other.run.engine.precision = precision;
    const auto priced = forecast_parallel(other, cluster, pricing);
    return priced ? std::optional(priced->step) : std::nullopt;
  };
  add(slower_note(own, step, experts, gpu, run.engine.kind, time_in), notes);
  return notes;
}

std::string above_peak_note(const Run& run, const Gpu& gpu, double utilisation) {
  const OpsPerSecond peak = dense_peak(gpu, multiplied_format(run, gpu));
  if (utilisation <= 1 || peak.base() <= 0) return {};
  return fmt::format(
      "MFU is of the {:.0f} TFLOP/s that {} is quoted with, at {:.0f} MHz; it clocks up to {:.0f} MHz where its power "
      "allows",
      in_teraops_per_second(peak), gpu.name, in_megahertz(gpu.clock.quoted), in_megahertz(gpu.clock.max));
}

std::vector<std::string> format_notes(const Run& run, const Gpu& gpu, Seconds step, const ChosenMethod& method) {
  const auto* model = std::get_if<ModelSpec>(&run.model);
  if (!model || run.workload.mode == Mode::train) return {};
  const bool experts = has_experts(*model);
  const Precision& own = run.engine.precision;
  std::vector<std::string> notes = engine_notes(run, *model, gpu);
  const auto time_in = [&](const Precision& precision) -> std::optional<Seconds> {
    Run other = run;
    other.engine.precision = precision;
    const auto prepared = prepare(other);
    if (!prepared) return std::nullopt;
    const auto priced = forecast_run(other, *prepared, gpu, method.method, method.weights());
    return priced ? std::optional(priced->step.total) : std::nullopt;
  };
  add(slower_note(own, step, experts, gpu, run.engine.kind, time_in), notes);
  return notes;
}

std::vector<std::string> slower_format_notes(const DeploymentOptions& options, const ServedSteps& steps,
                                             const ChosenMethod& method) {
  std::vector<std::string> notes;
  for (const ComparedStep& step : compared_steps(steps)) {
    const auto time = step_time(options, step.workload, method);
    if (!time) continue;
    const auto time_in = [&](const Precision& precision) -> std::optional<Seconds> {
      DeploymentOptions other = options;
      other.engine.precision = precision;
      const auto taken = step_time(other, step.workload, method);
      return taken ? std::optional(*taken) : std::nullopt;
    };
    const std::string note = slower_note(options.engine.precision, *time, has_experts(options.model), options.gpu,
                                         options.engine.kind, time_in);
    if (!note.empty()) notes.push_back(step.name + ": " + note);
  }
  return notes;
}

std::vector<std::string> deployment_notes(const DeploymentOptions& options, const ServedSteps& steps,
                                          const ChosenMethod& method) {
  const bool experts = has_experts(options.model);
  const Precision& own = options.engine.precision;
  std::vector<std::string> notes = served_notes(own, experts, options.gpu, options.engine.kind);
  if (own.as_checkpoint)
    for (const std::string& note : options.model.quantization_notes) add(note, notes);
  if (options.spread) add(plain_node_note(options.spread->cluster), notes);
  if (options.spread)
    add(refused_blocks(rank_spec(options.model, options.spread->layout), own, options.engine.kind), notes);
  for (std::string& note : slower_format_notes(options, steps, method)) notes.push_back(std::move(note));
  add(prefix_note(options), notes);
  add(block_note(options), notes);
  add_fit_note(options, notes);
  return notes;
}

}  // namespace tilecast
