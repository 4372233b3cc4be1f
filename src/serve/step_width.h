// How much shorter or longer than forecast the steps of a run may be: what the interval of its summary comes from.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "engine/run_width.h"
#include "serve/deployment.h"
#include "serve/metrics.h"

namespace tilecast {

// The ends of a step's 80 % interval over its forecast.
struct StepWidth {
  double low = 1, high = 1;
};
// Steps that only decode are weights and keys from memory, steps with prompts are products: they err differently.
struct StepWidths {
  StepWidth answers, prompts;
};
// Of the typical step of each kind in a run: its mean batch, at the mean context of its requests. A kind that the run
// does not have, or that cannot be forecast, is 1 to 1.
StepWidths step_widths(const DeploymentOptions& deployment, const ServingOutcome& outcome, Method method,
                       const ModelSource* weights);

// A cost at an end of these intervals. The GPU draws the same power for the longer or the shorter time.
class ScaledCost final : public StepCost {
 public:
  ScaledCost(const StepCost& cost, const StepWidths& widths, bool slow)
      : cost_(cost),
        answers_(slow ? widths.answers.high : widths.answers.low),
        prompts_(slow ? widths.prompts.high : widths.prompts.low) {}
  Seconds of(const StepBatch& batch) const override { return cost_.of(batch) * factor(batch); }
  Spent spent(const StepBatch& batch) const override {
    const Spent s = cost_.spent(batch);
    return {s.time * factor(batch), s.joules * factor(batch)};
  }

 private:
  double factor(const StepBatch& batch) const { return batch.prefill.empty() ? answers_ : prompts_; }
  const StepCost& cost_;
  double answers_, prompts_;
};

// How much slower or faster than forecast all steps of a served load may run together, for minutes: what their kernels
// leave open evens out over them as far as served runs show, and what the tokens of such runs are off by besides stays.
// `queued`: requests spend most of the time to their first token waiting to be scheduled.
StepWidths served_pace(const StepWidths& steps, bool queued);
// A part of the way to the ends: 1 the whole, 1/2 the root.
StepWidths part_of(const StepWidths& widths, double share);
// A simulation whose steps take so much longer or shorter.
class ScaledOptions {
 public:
  ScaledOptions(SimulationOptions simulation, const StepWidths& widths, bool slow)
      : options_(std::move(simulation)), answers_(*options_.pool.cost, widths, slow) {
    options_.pool.cost = &answers_;
    if (options_.prefill) options_.prefill->cost = &prompts_.emplace(*options_.prefill->cost, widths, slow);
  }
  ScaledOptions(const ScaledOptions&) = delete;
  ScaledOptions& operator=(const ScaledOptions&) = delete;
  const SimulationOptions& options() const { return options_; }

 private:
  SimulationOptions options_;
  ScaledCost answers_;
  std::optional<ScaledCost> prompts_;
};
// The run again, its steps by so much slower or faster.
Result<ServingOutcome> simulate_scaled(const std::vector<Request>& requests, const SimulationOptions& simulation,
                                       const StepWidths& widths, bool slow);

// A run again with its steps slower and faster: by their pace, so that queues are those of such steps.
struct ServingEnds {
  ServingMetrics fast, slow;
  RunKind steps = RunKind::inference;
  bool queued = false;       // requests spend most of the time to their first token waiting to be scheduled ...
  bool queued_slow = false;  // ... where steps are slow: then that end reaches as far as those of queued loads
  StepWidths widths = {};    // of single steps
  StepWidths pace = {};      // at which `fast` and `slow` ran
  std::vector<Slice> fast_over_time = {}, slow_over_time = {};  // over the seconds of the run as forecast
};
// `simulation` as it gave `outcome` of the requests; `slices` of it over time, where they are wanted; figures of the
// part that is `counted`. `again` runs it at a pace: simulates it, where nobody knows better.
using RunAgain = std::function<Result<ServingOutcome>(const StepWidths& pace, bool slow)>;
Result<ServingEnds> serving_ends(const DeploymentOptions& deployment, const std::vector<Request>& requests,
                                 const SimulationOptions& simulation, const ServingOutcome& outcome, const Slo& slo,
                                 Method method, const ModelSource* weights, int slices = 0,
                                 const std::optional<CountedSpan>& counted = {}, const RunAgain& again = {});
// Of a step of a run of this kind, from what its kernels leave open.
StepWidth of_whole_step(const StepWidth& parts, RunKind kind);

bool mostly_queued(const std::vector<RequestRecord>& requests);

// How far a figure of a run follows what its first tokens and the tokens after them are off by beside their steps:
// shares of a request's time, or of the time that requests keep a server for.
struct RequestShares {
  double first = 0, further = 0;
};
RequestShares shares_of_request(double first_token, double request);
// Of a rate: where clients wait for answers or all requests came at once, it is one over their time; where they come as
// they like, it is theirs. The runs at both ends tell.
RequestShares shares_of_rate(const ServingEnds& parts, const ServingMetrics& forecast);

// What one figure of a served load is off by beside the pace of its steps: logs, for `of_first` of it those of first
// tokens and for `of_further` those of the tokens after them; `median`: of a median, which is surer.
struct BesidePace {
  double down = 0, up = 0;
};
BesidePace beside_pace(const RequestShares& shares, bool median, const ServingEnds& parts);

// ... and with what whole runs are off by beside their pace. All figures come from the same two spreads: of first
// tokens, and of the tokens after them. No end lies nearer to the forecast than the one that its steps' pace leads to,
// queues and all.
ServingEnds of_whole_run(const ServingEnds& parts, const ServingMetrics& forecast);
// No request that was served took longer than its client waits.
void keep_to_patience(ServingEnds& ends, const SimulationOptions& simulation);

}  // namespace tilecast
