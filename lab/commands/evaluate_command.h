// `tilecast-lab evaluate`: measured tables in, errors of forecasts out.
#pragma once

#include <string>
#include <vector>

#include "tilecast/result.h"
#include "tilecast/units.h"

namespace tilecast {

struct EvaluateCommand {
  std::vector<std::string> data;
  std::vector<std::string> sources;  // of a folder: which to read; empty: those of the shipped weights
  std::string method = "tilecast";   // or another of lab/evaluate/judge.h's, or all
  std::vector<std::string> weights;  // judge these (lab/evaluate/judge.h says on which rows); one file per method
  std::vector<std::string> unseen;   // GPUs that the weights must not have seen
  std::string leave_one_out;         // gpu, architecture or source: train without it, judge on it
  std::vector<std::string> families;
  std::string by = "family,dtype,gpu";
  std::string predictions;  // a CSV of every judged row
  Count sample = 0;         // rows per table, GPU, engine, family and dtype; zero: all
  Count trees = 200;
  Count epochs = 0;         // for the papers' networks, trained with leave_one_out; zero: the papers' own number
  Count most_rows = 20000;  // per such network
  bool pairs = false;       // speed-ups between GPUs instead of errors
  bool json = false;
};
Result<std::string> run_evaluate(const EvaluateCommand& command);

}  // namespace tilecast
