// How a planned deployment is simulated: at a rate that goes on, for so long that nothing depends on how it began.
//
// A deployment of alike shares, behind a router that takes turns, is simulated as one of them: every k-th of requests
// whose gaps follow a gamma distribution of shape s comes after a gap of shape k s. The first requests find the
// machines idle and the last have them to themselves; those in between are counted.
//
// The nearer to saturation, the longer a queue takes to forget how it began. In heavy traffic it is a reflected
// Brownian motion, which forgets over 2 (ca^2 + cs^2) / (1 - load)^2 requests, ca and cs being the variations of gaps
// and of work; the mean over n times as many is off by 1 / sqrt(n) of itself (Whitt, Planning queueing simulations,
// 1989).
#pragma once

#include <optional>
#include <vector>

#include "serve/plan.h"

namespace tilecast {

struct PlanRun {
  SimulationOptions simulation;
  std::vector<Request> requests;
  Count shares = 1;                    // of which one is simulated
  std::optional<CountedSpan> counted;  // nothing: all requests
};

// How sure a run is of its queues: one that a plan shows, or one that looks for a rate.
enum class RunCare { shown, probe };

// What is drawn for the whole deployment: as many requests as the query says, else enough.
WorkloadOptions plan_workload(const ServeQuery& query, const PlannedDeployment& d, double rate);

// Requests at this rate, or in flight as the deployment has it.
Result<PlanRun> plan_run(const ServeQuery& query, const PlannedDeployment& d, double rate,
                         RunCare care = RunCare::shown);

// Requests over which a queue forgets how it began: variations of gaps and work, and the load over what can be served.
double requests_to_forget(double gaps, double work, double load);

// Of the whole deployment, by the run of a share.
ServingMetrics metrics_of(const PlanRun& run, const ServingOutcome& outcome, const ServeQuery& query);
// Whether as many requests end as come: a queue that grows without end does not show in times per token.
bool keeps_up(const PlanRun& run, const ServingMetrics& metrics);

}  // namespace tilecast
