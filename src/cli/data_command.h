// `tilecast import`, `tilecast evaluate` and `tilecast accuracy`: measured tables in, tables of errors out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "learn/measurement.h"
#include "support/result.h"

namespace tilecast {

struct ImportCommand {
  std::string from;  // aiconfigurator, neusight or synperf
  std::vector<std::string> files;
  std::string out;
  Count most_bad = 100;
};
Result<std::string> run_import(const ImportCommand& command);

struct TrainCommand {
  std::vector<std::string> data;
  std::vector<std::string> families;   // empty: all
  std::vector<std::string> leave_out;  // GPUs
  std::string out;
  std::optional<Count> sample;  // rows of each table, GPU, engine, family and dtype; 4000, the papers' methods all
  std::string method = "tilecast";
  Count epochs = 0;         // of the papers' networks; zero: theirs
  Count most_rows = 20000;  // of one such network
  Count trees = 300;
  std::optional<Count> seed;  // 1; the papers' methods their own
  int threads = 2;
};
Result<std::string> run_train(const TrainCommand& command);

struct EvaluateCommand {
  std::vector<std::string> data;
  std::string method = "tilecast";
  std::string weights;        // judge these; only the held-out tenth of shapes is called seen
  std::string leave_one_out;  // gpu or architecture: train without it, judge on it
  std::vector<std::string> families;
  std::string by = "family,dtype,gpu";
  Count sample = 0;  // rows of each table, GPU, engine, family and dtype; zero: all
  Count trees = 300;
  bool json = false;
};
Result<std::string> run_evaluate(const EvaluateCommand& command);

struct AccuracyCommand {
  std::string data;                                // the folder that holds aiconfigurator/, neusight/ and synperf/
  std::string measurements = "data/measurements";  // our own
  std::string out;                                 // written whole or not at all
  Count sample = 2000;
};
Result<std::string> run_accuracy(const AccuracyCommand& command);

}  // namespace tilecast
