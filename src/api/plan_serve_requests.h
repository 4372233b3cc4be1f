// What a plan's query says of its requests and of what engines have for them, as the planner takes it.
#pragma once

#include <string>
#include <vector>

#include "serve/plan.h"
#include "tilecast/plan.h"

namespace tilecast {

// What concerns more than one field.
Status check_plan_features(const PlanServeQuery& query);

// Engines that serve what is asked for, of those named or of all. Refuses one that was named and does not.
Result<std::vector<EngineKind>> engines_for(const PlanServeQuery& query);

// Requests, classes and features of a query that has a model, engines and a rate. `notes` hears what a trace was cut
// to.
Status add_plan_features(ServeQuery& query, const PlanServeQuery& asked, std::vector<std::string>& notes);

// Whether prompts may have a pool of their own: adapters, drafts, images, tiers and routers are planned in one.
bool plans_apart(const PlanServeQuery& query);

}  // namespace tilecast
