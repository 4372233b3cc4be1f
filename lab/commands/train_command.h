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
  std::vector<std::string> sources;    // of a folder: which to read; empty: those of the shipped weights
  std::vector<std::string> families;   // empty: all
  std::vector<std::string> leave_out;  // GPUs
  std::string out;
  std::string update;        // a weight file whose other models are kept; empty: none
  std::string refit_unseen;  // a weight file whose forests are kept; empty: none
  std::string repack;        // a weight file of other features or an earlier version to carry over; empty: none
  std::optional<Count>
      sample;  // rows per table, GPU, engine, family and dtype; default: 4000, for the papers' methods all
  std::string method = "tilecast";
  Count epochs = 0;         // for the papers' networks; zero: the papers' own number
  Count most_rows = 20000;  // per such network
  Count trees = 200;
  std::optional<Count> seed;  // default: 1, for the papers' methods the papers' own
  int threads = 2;
};
Result<std::string> run_train(const TrainCommand& command);

}  // namespace tilecast
