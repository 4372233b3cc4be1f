// A planned deployment simulated: its figures, their interval, and the chance that it meets the SLO.
#pragma once

#include "serve/plan.h"
#include "serve/step_width.h"

namespace tilecast {

// Probability that a figure is at most `limit`: its logarithm is taken as normal about the forecast, with the spread of
// either side such that four fifths of all cases lie between `low` and `high`.
double chance_below(double limit, double forecast, double low, double high);

// Of meeting every time of the SLO, as if they erred independently: TTFT, TPOT and E2EL go wrong together more often
// than that, so the product is rather too low. 1 where there is no SLO.
double chance_of(const Slo& slo, Statistic statistic, const ServingMetrics& forecast, const ServingMetrics& fast,
                 const ServingMetrics& slow);

class PlanJudge {
 public:
  PlanJudge(const ServeQuery& query, Method method, const ModelSource* weights)
      : q_(query), method_(method), weights_(weights) {}

  // Requests at this rate, or in flight as the deployment has it.
  Result<ServingOutcome> run(const PlannedDeployment& d, double rate) const;
  Result<ServingMetrics> simulated(const PlannedDeployment& d, double rate) const;
  bool meets(const ServingMetrics& metrics) const;
  // Fills in what follows from a simulation at the deployment's own rate.
  Status judge(PlannedDeployment& d) const;
  // The rate that serves most: requests a second times the chance that they are served within the SLO. From the steady
  // state's rate on, simulations say where the SLO breaks, and what slack below is worth.
  Status judge_most_load(PlannedDeployment& d) const;
  // How fast answers may come by the interval of a step that decodes, and by what served runs are off by besides.
  void add_interval(ParetoPoint& point, const PlannedDeployment& d) const;

 private:
  WorkloadOptions workload(const PlannedDeployment& d, double rate) const;
  Result<std::vector<Request>> requests(const PlannedDeployment& d, double rate) const;
  double chance(const ServingMetrics& forecast, const ServingEnds& ends) const;
  Seen seen(const PlannedDeployment& d) const;

  const ServeQuery& q_;
  Method method_;
  const ModelSource* weights_;
};

}  // namespace tilecast
