// A training plan as text and JSON.
#pragma once

#include <string>

#include "tilecast/plan.h"

namespace tilecast {

std::string plan_train_text(const TrainingPlanResult& plan);
// How it goes on other numbers of GPUs; of a plan with its scaling.
std::string scaling_plot(const TrainingPlanResult& plan);
// Why nothing was planned, and what comes nearest.
Error no_layout(const TrainingPlanResult& plan);

}  // namespace tilecast
