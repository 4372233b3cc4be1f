// A serving plan as text and JSON.
#pragma once

#include <string>

#include "tilecast/plan.h"

namespace tilecast {

std::string plan_serve_text(const PlanServeQuery& query, const ServingPlan& plan);
std::string plan_serve_json(const PlanServeQuery& query, const ServingPlan& plan);
// Why nothing was planned, and what comes nearest.
Error no_deployment(const ServingPlan& plan);

}  // namespace tilecast
