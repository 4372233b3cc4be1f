#include "serve/step_width.h"

#include <algorithm>
#include <cmath>

#include "parallel/split.h"

namespace tilecast {
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
  void add(const StepRecord& s) { ++steps, prompt_tokens += s.prompt_tokens, decodes += s.decodes; }
};

}  // namespace

StepWidths step_widths(const DeploymentOptions& d, const ServingOutcome& outcome, Method method,
                       const ModelSource* weights) {
  Typical with, without;
  for (const StepRecord& s : outcome.steps) (s.prompt_tokens > 0 ? with : without).add(s);
  double input = 0, context = 0, count = 0;
  for (const RequestRecord& r : outcome.requests) {
    if (r.refused) continue;
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

}  // namespace tilecast
