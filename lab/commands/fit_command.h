// `tilecast-lab fit`: refits the constants of kernel and estimate physics, with cards left out where asked.
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
  Count learned = 0;  // rows of each table, GPU, engine, family and dtype for trainings without a card; zero: none
  Count trees = 200;  // of those
  int threads = 2;
};

Result<std::string> run_fit(const FitCommand& command);

}  // namespace tilecast
