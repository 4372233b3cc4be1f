#include "serve/step_width.h"

#include <algorithm>
#include <cmath>

#include "constants/intervals.h"
#include "parallel/split.h"

namespace tilecast {

using namespace constants;

namespace {

StepWidth width_of(const DeploymentOptions& d, const Workload& workload, Method method, const ModelSource* weights) {
  const Run run{d.spread ? rank_spec(d.model, d.spread->layout) : d.model, workload, d.engine, {}};
  const auto prepared = prepare(run);
  if (!prepared) return {};
  const auto step = forecast_step(prepared->program, d.gpu, workload.sequences(), method, weights);
  if (!step || !(step->gpu > seconds(0))) return {};
  const Interval of_gpu = interval_of_sum(prepared->program, step->calls, step->gpu);
  return {of_gpu.low / step->gpu, of_gpu.high / step->gpu};
}

Count at_least_one(double value) { return std::max<Count>(1, std::llround(value)); }

// The mean step of those that compute prompts, or of those that do not.
struct Typical {
  double steps = 0, prompt_tokens = 0, decodes = 0;
  void add(const StepRecord& s) { steps += s.steps, prompt_tokens += s.prompt_tokens, decodes += s.decodes; }
};

}  // namespace

StepWidths step_widths(const DeploymentOptions& d, const ServingOutcome& outcome, Method method,
                       const ModelSource* weights) {
  Typical with, without;
  for (const StepRecord& s : outcome.steps) (s.prompt_tokens > 0 ? with : without).add(s);
  double input = 0, context = 0, count = 0;
  for (const RequestRecord& r : outcome.requests) {
    if (!r.served()) continue;
    input += static_cast<double>(r.input), context += static_cast<double>(r.input + r.output / 2), ++count;
  }
  if (!(count > 0)) return {};
  const auto answers = [&](const Typical& t) {
    return Requests{at_least_one(t.decodes / t.steps), 1 + d.speculation.draft, at_least_one(context / count)};
  };
  StepWidths widths;
  if (without.steps > 0) {
    Workload workload;
    workload.mode = Mode::decode;
    workload.requests = {answers(without)};
    widths.answers = width_of(d, workload, method, weights);
  }
  if (with.steps > 0) {
    // As many whole prompts as the step's tokens make, or a chunk of one.
    const double tokens = with.prompt_tokens / with.steps, prompts = std::max(1.0, tokens / (input / count));
    Workload workload;
    workload.requests = {{at_least_one(prompts), at_least_one(tokens / prompts), 0}};
    if (with.decodes >= with.steps) {
      workload.mode = Mode::mixed;
      workload.requests.push_back(answers(with));
    }
    widths.prompts = width_of(d, workload, method, weights);
  }
  return widths;
}

Result<ServingEnds> serving_ends(const DeploymentOptions& deployment, const std::vector<Request>& requests,
                                 const SimulationOptions& simulation, const ServingOutcome& outcome, const Slo& slo,
                                 Method method, const ModelSource* weights) {
  const StepWidths widths = step_widths(deployment, outcome, method, weights);
  ServingEnds ends;
  for (const bool slow : {false, true}) {
    SimulationOptions again = simulation;
    const ScaledCost cost(*simulation.pool.cost, widths, slow);
    again.pool.cost = &cost;
    std::optional<ScaledCost> of_prompts;
    if (again.prefill) again.prefill->cost = &of_prompts.emplace(*simulation.prefill->cost, widths, slow);
    const auto at_end = simulate(requests, again);
    if (!at_end) return at_end.error();
    (slow ? ends.slow : ends.fast) = metrics_of(*at_end, slo);
  }
  return ends;
}

namespace {

// The end of a figure that lies to one side of its forecast: the farther, by the widths of its parts and of whole runs.
double farther(double parts, double forecast, double width, bool above) {
  if (!(forecast > 0) || !(parts > 0)) return parts;
  const double log = std::max(0.0, above ? std::log(parts / forecast) : std::log(forecast / parts));
  const double whole = std::hypot(log, width);
  return forecast * std::exp(above ? whole : -whole);
}

Summary farther(const Summary& parts, const Summary& forecast, const WidthConstants& width, bool slow) {
  const double by = slow ? width.up : width.down;
  return {farther(parts.mean, forecast.mean, by, slow), farther(parts.median, forecast.median, by, slow),
          farther(parts.p90, forecast.p90, by, slow), farther(parts.p99, forecast.p99, by, slow)};
}

ServingMetrics farther(ServingMetrics end, const ServingMetrics& forecast, bool slow) {
  end.ttft = farther(end.ttft, forecast.ttft, kTtftWidth, slow);
  for (Summary ServingMetrics::*figure : {&ServingMetrics::tpot, &ServingMetrics::itl, &ServingMetrics::e2el})
    end.*figure = farther(end.*figure, forecast.*figure, kTpotWidth, slow);
  // A slow run has the low rate.
  const double by = slow ? kRateWidth.down : kRateWidth.up;
  for (double ServingMetrics::*rate :
       {&ServingMetrics::request_throughput, &ServingMetrics::output_throughput, &ServingMetrics::total_throughput})
    end.*rate = farther(end.*rate, forecast.*rate, by, !slow);
  return end;
}

}  // namespace

ServingEnds of_whole_run(const ServingEnds& parts, const ServingMetrics& forecast) {
  return {farther(parts.fast, forecast, false), farther(parts.slow, forecast, true)};
}

}  // namespace tilecast
