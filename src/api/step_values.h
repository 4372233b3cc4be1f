// Forecasts of steps as the values that answers are made of.
#pragma once

#include "api/step_run.h"
#include "tilecast/step.h"

namespace tilecast {

struct StepDetail {
  ParallelRun run;
  ParallelForecast forecast;
  Cluster cluster;
};

StepForecast step_of(const AskedStep& asked, const PreparedRun& prepared, const RunForecast& forecast);
StepForecast step_of(const AskedStep& asked, ParallelForecast forecast);

// One of each pipeline stage.
std::vector<StepMemory> memory_of(const ParallelForecast& forecast);

}  // namespace tilecast
