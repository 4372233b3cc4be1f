// A planned deployment simulated: its figures, their interval, and the chance that it meets the SLO.
#pragma once

#include "serve/plan.h"
#include "serve/plan_run.h"
#include "serve/step_width.h"

namespace tilecast {

// Probability that a figure is at most `limit`: its logarithm is taken as normal about the forecast, with the spread of
// either side such that four fifths of all cases lie between `low` and `high`.
double chance_below(double limit, double forecast, double low, double high);

// Of meeting every time of the SLO, as if they erred independently: TTFT, TPOT and E2EL go wrong together more often
// than that, so the product is rather too low. 1 where there is no SLO.
double chance_of(const Slo& slo, Statistic statistic, const ServingMetrics& forecast, const ServingMetrics& fast,
                 const ServingMetrics& slow);

// Probability that at least `rate` requests a second can be served, by the range that so many are forecast with.
double chance_of_rate(double rate, double capacity, const RateEnds& ends);

class PlanJudge {
 public:
  PlanJudge(const ServeQuery& query, Method method, const ModelSource* weights)
      : q_(query), method_(method), weights_(weights) {}

  // Requests at this rate, or in flight as the deployment has it.
  struct Simulated {
    PlanRun plan;
    ServingOutcome outcome;
  };
  Result<Simulated> run(const PlannedDeployment& d, double rate, bool keep_gaps) const;
  struct Figures {
    ServingMetrics metrics;
    bool meets = false;
  };
  // Without the times between tokens, which no objective is about.
  Result<Figures> simulated(const PlannedDeployment& d, double rate) const;
  // From which rate on queues would grow without end, by the steady state.
  Saturation saturation(const PlannedDeployment& d) const;
  // Fills in what follows from a simulation at the deployment's own rate.
  Status judge(PlannedDeployment& d) const;
  // The rate that serves most: requests a second times the chance that they are served within the SLO. From the steady
  // state's rate on, simulations say where the SLO breaks, and what slack below is worth.
  Status judge_most_load(PlannedDeployment& d) const;
  // How fast answers may come by the interval of a step that decodes, and by what served runs are off by besides.
  void add_interval(ParetoPoint& point, const PlannedDeployment& d) const;

 private:
  Figures figures_of(const Simulated& run) const;
  bool meets(const ServingMetrics& metrics) const;
  double chance(const ServingMetrics& forecast, const ServingEnds& ends) const;
  Seen seen(const PlannedDeployment& d) const;

  const ServeQuery& q_;
  Method method_;
  const ModelSource* weights_;
};

}  // namespace tilecast
