// A planned deployment as the reader of a plan sees it.
#pragma once

#include "api/plan_serve_launch.h"

namespace tilecast {

// `launches`: those of the query's plans.
PlannedServing plan_row(const ServeQuery& query, const PlanLaunches& launches, const PlannedDeployment& d);

}  // namespace tilecast
