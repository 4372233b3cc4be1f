// `tilecast train`: measured tables in, a weight file out.
#pragma once

#include <string>
#include <vector>

#include "support/result.h"
#include "units/units.h"

namespace tilecast {

struct TrainCommand {
  std::vector<std::string> data;
  std::vector<std::string> families;   // empty: all
  std::vector<std::string> leave_out;  // GPUs
  std::string out;
  Count sample = 4000;  // rows of each table, GPU, engine, family and dtype
  Count trees = 300;
  Count seed = 1;
  int threads = 2;
};
Result<std::string> run_train(const TrainCommand& command);

}  // namespace tilecast
