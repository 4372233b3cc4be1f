// `tilecast-lab coverage --data DIR`: what 80 % intervals hold, and the widths they should have.
#pragma once

#include <string>
#include <vector>

#include "lab/evidence/coverage.h"
#include "tilecast/result.h"

namespace tilecast {

struct CoverageCommand {
  std::string data;                                // the folder of measured tables
  std::string measurements = "data/measurements";  // our own
  std::string keep;                                // a folder for weights trained on the way
  std::string only;                                // kernels or runs; empty: both
  std::vector<std::string> sources;                // of runs, of end_to_end_sources(); empty: all
  std::string out;                                 // a page to write: docs/accuracy/coverage.md
  std::string constants;                           // src/constants/intervals.h, to be rewritten
  Count sample = 100;                              // rows of each table, GPU, engine, family and dtype
  Count trees = 60;
  bool train = false;  // leave each source out of a training, in place of judging those the weights never saw
};
// Kernels of the shipped weights, or of trainings without each source.
Result<CoverageRows> kernel_coverage(const CoverageCommand& command);
Result<std::string> run_coverage(const CoverageCommand& command);

}  // namespace tilecast
