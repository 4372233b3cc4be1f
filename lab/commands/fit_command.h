// `tilecast-lab fit`: refits the constants of the physics, leaving cards out on request.
#pragma once

#include <string>
#include <vector>

#include "tilecast/result.h"
#include "tilecast/units.h"

namespace tilecast {

struct FitCommand {
  std::vector<std::string> data, families, leave_out;
  std::string state, out;
  Count sample = 12, passes = 6;
  Count learned = 0;  // rows per table, GPU, engine, family and dtype for trainings without a card; zero: no trainings
  Count trees = 200;  // per forest of those trainings
  int threads = 2;
};

Result<std::string> run_fit(const FitCommand& command);

}  // namespace tilecast
