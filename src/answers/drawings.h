// Pictures, pages and timelines of answers. Rooms above this one draw them (cli/views, cli/plot); whoever serves others
// hands them in, so that {"files": true} and charts of rows give what the command line would write.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "answers/answer_files.h"
#include "answers/rows.h"
#include "tilecast/diagnose.h"
#include "tilecast/plan.h"
#include "tilecast/serving.h"

namespace tilecast {

// A chart of rows that were asked over a range.
struct AnswerChart {
  std::string question, title;
  std::string y = {};  // the column to draw; empty: the question's own
  bool png = false;    // in place of SVG
};

struct AnswerDrawings {
  std::function<std::vector<AnswerFile>(const DiagnosisReport&)> diagnosis;
  std::function<std::vector<AnswerFile>(const PlanServeQuery&, const ServingPlan&)> serving_plan;
  std::function<std::vector<AnswerFile>(const TrainingPlanResult&)> training_plan;
  std::function<std::vector<AnswerFile>(const SimulationResult&)> simulation;  // of one load
  std::function<Result<std::string>(const AnswerRows&, const AnswerChart&)> chart = {};
};

}  // namespace tilecast
