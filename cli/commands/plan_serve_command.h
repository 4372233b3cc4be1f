// `tilecast plan serve MODEL --slo ... --rate ...`: the best deployment that meets its objectives.
#pragma once

#include <optional>
#include <string>

#include "cli/terminal/program.h"
#include "tilecast/plan.h"

namespace tilecast {

struct PlanServeOptions {
  PlanServeQuery query;
  bool json = false;
  std::string save_dir;          // a new folder for the files that start the best plans
  std::optional<Count> save_top;  // how many of them; none: kSavedPlans
  std::string html;              // a page with pictures
  std::string svg;               // the pictures alone: how their names begin
  std::optional<Error> refusal;  // of a flag's value
};

// The whole output of the command; where nothing meets, an error that says what comes nearest, and beside it the JSON
// that was asked for.
Answer run_plan_serve(const PlanServeOptions& options);

}  // namespace tilecast
