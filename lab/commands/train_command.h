// `tilecast-lab train`: measured tables in, a weight file out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tilecast/result.h"
#include "tilecast/units.h"

namespace tilecast {

struct TrainCommand {
  std::vector<std::string> data;
  std::vector<std::string> sources;    // of a folder: which are read; empty: those of the shipped weights
  std::vector<std::string> families;   // empty: all
  std::vector<std::string> leave_out;  // GPUs
  std::string out;
  std::string update;           // a weight file whose other models are kept; empty: none
  std::string refit_unseen;     // a weight file whose forests stay; empty: none
  std::string repack;           // a weight file of other features or an earlier version to carry over; empty: none
  std::optional<Count> sample;  // rows of each table, GPU, engine, family and dtype; 4000, the papers' methods all
  std::string method = "tilecast";
  Count epochs = 0;         // of the papers' networks; zero: theirs
  Count most_rows = 20000;  // of one such network
  Count trees = 200;
  std::optional<Count> seed;  // 1; the papers' methods their own
  int threads = 2;
};
Result<std::string> run_train(const TrainCommand& command);

}  // namespace tilecast
