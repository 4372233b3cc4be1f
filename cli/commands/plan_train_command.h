// `tilecast plan train MODEL --gpus ...`: all ways to spread a training step over GPUs, ranked.
#pragma once

#include <optional>
#include <string>

#include "tilecast/plan.h"

namespace tilecast {

struct PlanTrainOptions {
  PlanTrainQuery query;
  std::string svg;  // a file for the picture of its scaling; empty: none
  bool json = false;
  std::optional<Error> refusal;  // of a flag's value
};

// The whole output of the command; where nothing fits, an error that says what comes nearest.
Result<std::string> run_plan_train(const PlanTrainOptions& options);

}  // namespace tilecast
