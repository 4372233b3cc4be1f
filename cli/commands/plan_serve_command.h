// `tilecast plan serve MODEL --slo ... --rate ...`: the cheapest deployment that meets its objectives.
#pragma once

#include <optional>
#include <string>

#include "tilecast/plan.h"

namespace tilecast {

struct PlanServeOptions {
  PlanServeQuery query;
  bool json = false;
  std::optional<Error> refusal;  // of a flag's value
};

// The whole output of the command; where nothing meets, an error that says what comes nearest.
Result<std::string> run_plan_serve(const PlanServeOptions& options);

}  // namespace tilecast
