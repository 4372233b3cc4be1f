// A planned deployment simulated: its figures, their interval, and the chance that it meets the SLO.
#pragma once

#include <map>
#include <vector>

#include "serve/plan.h"
#include "serve/plan_chance.h"
#include "serve/plan_run.h"
#include "serve/step_width.h"

namespace tilecast {

class PlanJudge {
 public:
  PlanJudge(const ServeQuery& query, Method method, const ModelSource* weights)
      : q_(query), method_(method), weights_(weights) {}

  // Requests at this rate, or in flight as the deployment has it.
  struct Simulated {
    PlanRun plan;
    ServingOutcome outcome;
  };
  // ... without the times between tokens, which no objective is about.
  Result<Simulated> run(const PlannedDeployment& d, double rate, RunCare care) const;
  struct Figures {
    ServingMetrics metrics;
    bool meets = false;
  };
  // Of a run that only probes.
  Result<Figures> simulated(const PlannedDeployment& d, double rate) const;
  // From which rate on queues would grow without end, by the steady state; at an end of the steps' paces, where given.
  Saturation saturation(const PlannedDeployment& d) const;
  Saturation saturation(const PlannedDeployment& d, const StepWidths& pace, bool slow) const;
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
  // The run at a few paces of its steps, and from which on queues would grow without end.
  struct PacedRuns {
    std::vector<double> paces;
    std::vector<ServingMetrics> at;
    double breaks = 0;
  };
  Result<PacedRuns> paced(const PlannedDeployment& d, const PlanRun& plan, const ServingEnds& ends) const;
  // The pace from which on requests come faster than they can be served, by steady states.
  double pace_that_saturates(const PlannedDeployment& d, const StepWidths& pace) const;
  double chance(const PacedRuns& runs, const ServingMetrics& forecast, const ServingEnds& ends) const;
  // What runs at some rates tell of others (plan_most_load.cpp).
  struct ProbedRates {
    std::map<double, ServingMetrics> metrics;
    double most = 0;     // from which rate on queues would grow without end; 0: none
    double prompts = 0;  // share of the steps' time that prompts are in
    ServingEnds ends;    // their pace alone
  };
  double chance_by_rates(const ProbedRates& probed, double rate) const;
  Seen seen(const PlannedDeployment& d) const;

  const ServeQuery& q_;
  Method method_;
  const ModelSource* weights_;
};

}  // namespace tilecast
