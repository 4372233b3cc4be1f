// What `plan serve` is asked, as the planner takes it.
#pragma once

#include "serve/plan.h"
#include "tilecast/plan.h"

namespace tilecast {

// What of an objective, its SLO and its rate goes together.
Status check_objective(const PlanServeQuery& asked);

// `plan` hears whose the prices are, and what its reader is to know of what was read.
Result<ServeQuery> planner_query(const PlanServeQuery& asked, ServingPlan& plan);

}  // namespace tilecast
