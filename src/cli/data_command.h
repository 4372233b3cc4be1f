// `tilecast import`, `tilecast evaluate` and `tilecast accuracy`: measured tables in, tables of errors out.
#pragma once

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

struct EvaluateCommand {
  std::vector<std::string> data;
  std::string method = "tilecast";
  std::string by = "family,dtype,gpu";
  Count sample = 0;  // rows of each file, GPU, engine, family and dtype; zero: all
  bool json = false;
};
Result<std::string> run_evaluate(const EvaluateCommand& command);

struct AccuracyCommand {
  std::string data;                              // the folder that holds aiconfigurator/, neusight/ and synperf/
  std::string measurements = "data/measurements";  // our own
  std::string out;       // written whole or not at all
  Count sample = 2000;
};
Result<std::string> run_accuracy(const AccuracyCommand& command);

}  // namespace tilecast
