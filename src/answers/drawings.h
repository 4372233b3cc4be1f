// Pictures, pages and timelines of answers. Rooms above this one draw them (cli/views); whoever serves others hands
// them in, so that {"files": true} gives what the command line would write.
#pragma once

#include <functional>
#include <vector>

#include "answers/answer_files.h"
#include "tilecast/diagnose.h"
#include "tilecast/plan.h"
#include "tilecast/serving.h"

namespace tilecast {

struct AnswerDrawings {
  std::function<std::vector<AnswerFile>(const DiagnosisReport&)> diagnosis;
  std::function<std::vector<AnswerFile>(const PlanServeQuery&, const ServingPlan&)> serving_plan;
  std::function<std::vector<AnswerFile>(const TrainingPlanResult&)> training_plan;
  std::function<std::vector<AnswerFile>(const SimulationResult&)> simulation;  // of one load
};

}  // namespace tilecast
