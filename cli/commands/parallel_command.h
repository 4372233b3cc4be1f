// `tilecast plan train`: all ways to spread a model's step over GPUs, ranked.
#pragma once

#include <string>
#include <vector>

#include "parallel/plan.h"

namespace tilecast {

// The training that is planned.
struct PlannedTraining {
  std::string model;
  Count seq = 0;
  std::vector<std::string> dtypes, engines;
  std::string mixed = "none", optimizer = "adamw";
  std::string method = "tilecast", weights;
  bool json = false;
};

struct PlanOptions {
  PlannedTraining predict;
  std::string gpus;  // "64xH100"
  Count global_batch = 0;
  double tokens = 1e12;  // of the whole training
  Count top = 10;
  std::string prices;
  double price = 0;  // of a GPU and hour; 0: the table's
};

Result<std::string> run_plan_train(const PlanOptions& options);

// Views.
// Why nothing was planned.
Error no_plan(const TrainingQuery& query, const TrainingPlan& plan);
std::string plan_table(const TrainingQuery& query, const TrainingPlan& plan, const PlanOptions& options,
                       const TrainingCost& cost, const std::string& price_note);
std::string plan_json(const TrainingQuery& query, const TrainingPlan& plan, const PlanOptions& options,
                      const TrainingCost& cost);

}  // namespace tilecast
