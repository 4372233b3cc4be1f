#include "lab/evidence/endtoend.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "engine/run_width.h"
#include "estimate/width.h"
#include "gpu/registry.h"
#include "model/library.h"
#include "parallel/rank_memory.h"

namespace tilecast {
namespace {

// Kernels of one pass, or their launches where those take longer.
Seconds time_of_pass(const Program& program, const ProgramForecast& step, Pass pass) {
  Seconds gpu;
  Count launches = 0;
  for (std::size_t i = 0; i < program.calls.size(); ++i) {
    const KernelCall& call = program.calls[i];
    if (program.sections[call.section].pass != pass) continue;
    gpu += step.calls[i].each * static_cast<double>(call.times);
    launches += call.times;
  }
  return std::max(gpu, program.host.per_launch * static_cast<double>(launches));
}

std::string text_of(const EndToEndLabel& label) {
  return label.source + ": " + label.model + " " + label.mode + " on " + label.gpu;
}

struct Forecast {
  Program program;
  ProgramForecast step;
  Bytes memory, usable;
  Bytes last_memory = {}, first_reserved = {};
  RunKind kind = RunKind::inference;
};

// A step over many GPUs as a single figure: its passes are not told apart.
Result<Forecast> forecast_spread(const EndToEndCase& one, const Run& run, Method method, const ModelSource* weights) {
  const OverGpus& spread = *one.spread;
  StepPricing with{method, weights, &shipped_comm_constants()};
  with.links_of = spread.links, with.late = spread.late;
  auto forecast = forecast_parallel({run, spread.layout, spread.micro_batch}, spread.cluster, with);
  if (!forecast) return std::move(forecast).error();
  Forecast done{std::move(forecast->program), std::move(forecast->rank), {}, forecast->usable};
  done.kind = kind_of(done.program, spread.layout.ranks() > 1);
  done.step.total = forecast->step + spread.per_step;
  done.step.interval = {forecast->interval.low + spread.per_step, forecast->interval.high + spread.per_step};
  done.step.parts = {forecast->parts.low + spread.per_step, forecast->parts.high + spread.per_step};
  for (const StageForecast& stage : forecast->stages) done.memory = std::max(done.memory, stage.memory.total());
  done.last_memory = forecast->stages.back().memory.total();
  done.first_reserved = reserved_memory(forecast->stages.front().memory);
  return done;
}

Result<Forecast> forecast_of(const EndToEndCase& one, const Run& run, const Gpu& gpu, Method method,
                             const ModelSource* weights) {
  if (one.spread) return forecast_spread(one, run, method, weights);
  auto prepared = prepare(run);
  if (!prepared) return std::move(prepared).error();
  Program& program = prepared->program;
  if (one.host) program.host = *one.host;
  if (one.pace) program.host.per_launch = launch_time(program, one.pace->code, one.pace->addition);
  if (one.untimed_loss)
    std::erase_if(program.calls, [&](const KernelCall& call) {
      return call.op_class == OpClass::loss && program.sections[call.section].pass == Pass::forward;
    });
  auto forecast = forecast_run(run, *prepared, gpu, method, weights);
  if (!forecast) return std::move(forecast).error();
  const Bytes memory = forecast->memory.total();
  const RunKind kind = kind_of(program, false);
  return Forecast{std::move(program), std::move(forecast->step), memory, forecast->usable, memory, {}, kind};
}

Result<std::vector<Forecast>> forecast_runs(const EndToEndCase& one, const Gpu& gpu, Method method,
                                            const ModelSource* weights) {
  std::vector<Forecast> done;
  for (const Run& run : one.runs) {
    auto forecast = forecast_of(one, run, gpu, method, weights);
    if (!forecast) return std::move(forecast).error().at(text_of(one.label));
    done.push_back(*std::move(forecast));
  }
  return done;
}

double part_of(const Forecast& run, Part part) {
  switch (part) {
    case Part::step: return run.step.total.base();
    case Part::forward: return time_of_pass(run.program, run.step, Pass::forward).base();
    case Part::backward: return time_of_pass(run.program, run.step, Pass::backward).base();
    case Part::optimizer: return time_of_pass(run.program, run.step, Pass::optimizer).base();
    case Part::memory: return run.memory.base();
    case Part::last_memory: return run.last_memory.base();
    case Part::first_reserved: return run.first_reserved.base();
  }
  return 0;
}

// Parts of a step are as uncertain as the whole; memory has no interval. Steps of one model on one card err together.
void add_ends(EndToEndResult& result, const Forecast& run, const Term& term) {
  if (term.part >= Part::memory) return;
  result.kind = run.step.host_bound() ? kHostKind : name_of(run.kind);
  const double value = term.weight * part_of(run, term.part) / run.step.total.base();
  result.low += value * run.step.interval.low.base(), result.high += value * run.step.interval.high.base();
  result.parts_low += value * run.step.parts.low.base(), result.parts_high += value * run.step.parts.high.base();
}

// Of a throughput: the slowest end is the lowest.
void as_throughput(EndToEndResult& result, double tokens) {
  result.forecast = tokens / result.forecast;
  if (!(result.low > 0)) return;
  result.low = tokens / std::exchange(result.high, tokens / result.low);
  result.parts_low = tokens / std::exchange(result.parts_high, tokens / result.parts_low);
}

}  // namespace

Result<std::vector<EndToEndResult>> judge_cases(const std::vector<EndToEndCase>& cases, Method method,
                                                const ModelSource* weights, LeftOutRows* without) {
  std::vector<EndToEndResult> results;
  for (const EndToEndCase& one : cases) {
    const auto gpu = find_gpu(one.label.gpu);
    if (!gpu) return gpu.error();
    const auto runs = forecast_runs(one, *gpu, method, weights);
    if (!runs && without) {
      leave_out(*without, kNoForecast + runs.error().problem);
      continue;
    }
    if (!runs) return runs.error();
    for (const Figure& figure : one.figures) {
      EndToEndResult result;
      result.label = one.label, result.quantity = figure.name, result.measured = figure.measured;
      result.others = figure.others;
      for (const Term& term : figure.terms) {
        const Forecast& run = (*runs)[term.run];
        result.forecast += term.weight * part_of(run, term.part);
        add_ends(result, run, term);
        const bool timed = term.part < Part::memory;
        result.host_bound = result.host_bound || (timed && run.step.host_bound());
      }
      if (figure.tokens > 0) as_throughput(result, figure.tokens);
      if (one.must_fit) result.fits = (*runs)[*one.must_fit].memory <= (*runs)[*one.must_fit].usable;
      results.push_back(std::move(result));
    }
  }
  return results;
}

std::vector<ContextPoint> context_points(Count first, Count steps) {
  constexpr Count kParts = 4;
  assert(steps >= 1);
  if (steps <= kParts) {
    std::vector<ContextPoint> each;
    for (Count i = 0; i < steps; ++i) each.push_back({first + i, 1});
    return each;
  }
  std::vector<ContextPoint> points;
  for (Count i = 0; i <= kParts; ++i) points.push_back({first + (steps - 1) * i / kParts, 0});
  // Every interval's steps go to its ends in equal parts; the two outermost steps count whole.
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const auto width = static_cast<double>(points[i + 1].context - points[i].context);
    points[i].steps += width / 2;
    points[i + 1].steps += width / 2;
  }
  points.front().steps += 0.5;
  points.back().steps += 0.5;
  return points;
}

Result<Run> run_of(const std::string& model, EngineKind engine, const std::string& dtype, Workload workload) {
  auto spec = find_model(model);
  if (!spec) return std::move(spec).error();
  auto precision = precision_from(dtype);
  if (!precision) return std::move(precision).error();
  Run run{*std::move(spec), std::move(workload), {}, {}};
  run.engine.kind = engine;
  run.engine.precision = *std::move(precision);
  return run;
}

}  // namespace tilecast
