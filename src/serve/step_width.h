// How much shorter or longer than forecast the steps of a run may be: what the interval of its summary comes from.
#pragma once

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

// A run again with all steps at the ends of their intervals: what its kernels leave open.
struct ServingEnds {
  ServingMetrics fast, slow;
  RunKind steps = RunKind::inference;
  bool queued = false;  // requests spend most of the time to their first token waiting to be scheduled
  StepWidths widths = {};
  std::vector<Slice> fast_over_time = {}, slow_over_time = {};  // over the seconds of the run as forecast
};
// `simulation` as it gave `outcome` of the requests; `slices` of it over time, where they are wanted; figures of the
// part that is `counted`.
Result<ServingEnds> serving_ends(const DeploymentOptions& deployment, const std::vector<Request>& requests,
                                 const SimulationOptions& simulation, const ServingOutcome& outcome, const Slo& slo,
                                 Method method, const ModelSource* weights, int slices = 0,
                                 const std::optional<CountedSpan>& counted = {});
// Of a step of a run of this kind, from what its kernels leave open.
StepWidth of_whole_step(const StepWidth& parts, RunKind kind);

// How many requests a second may be served at most, where the forecast is `capacity`: steps of which a share of the
// time, `prompts`, is that of steps with prompts, at the ends of their widths, and what queued runs are off by besides.
struct RateEnds {
  double low = 0, high = 0;
};
RateEnds capacity_ends(double capacity, const ServingEnds& parts, double prompts);

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

// ... and with what steps and whole runs are off by. All figures come from the same two spreads: of first tokens, and
// of the tokens after them.
ServingEnds of_whole_run(const ServingEnds& parts, const ServingMetrics& forecast);
// No request that was served took longer than its client waits.
void keep_to_patience(ServingEnds& ends, const SimulationOptions& simulation);

}  // namespace tilecast
