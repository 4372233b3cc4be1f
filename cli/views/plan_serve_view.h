// A serving plan as text, JSON, drawings and a page.
#pragma once

#include <string>

#include "tilecast/plan.h"

namespace tilecast {

std::string plan_serve_text(const PlanServeQuery& query, const ServingPlan& plan);
// Why nothing was planned, and what comes nearest.
Error no_deployment(const PlanServeQuery& query, const ServingPlan& plan);

// SVG files; of a plan with pictures.
struct PlanPlots {
  std::string pareto, loads, timeline;  // the last two empty where nothing meets
};
PlanPlots plan_serve_plots(const ServingPlan& plan);
// One page that needs nothing else.
std::string plan_serve_html(const PlanServeQuery& query, const ServingPlan& plan);

// "vllm, fp8, cache fp8, tp 2 × 3"
std::string spread_words(const PlannedServing& planned);
// Weights and cache of each GPU in GiB, of prompts' before answers' where they are apart: "158 + 10; 94 + 58"
std::string memory_words(const PlannedServing& planned);

}  // namespace tilecast
