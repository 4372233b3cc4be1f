// `tilecast-lab coverage --data DIR`: what 80 % intervals hold, and the widths they should have.
#pragma once

#include <string>
#include <vector>

#include "lab/commands/shared.h"
#include "lab/evidence/kernel_errors.h"
#include "tilecast/result.h"

namespace tilecast {

struct CoverageCommand {
  std::string data;                                // the folder of measured tables
  std::string measurements = "data/measurements";  // our own
  std::string keep;                                // a folder for what trainings on the way bring, read again if there
  std::string only;                                // kernels or runs; empty: both
  std::vector<std::string> sources;                // of runs, of end_to_end_sources(); empty: all
  std::string out;                                 // a page to write: docs/accuracy/coverage.md
  std::string figures;                             // data/evidence/visible.csv, to be written
  std::string constants;                           // src/constants/intervals.h, to be rewritten
  Count sample = 100;                              // kernels: rows of each table, GPU, engine, family and dtype
  Count card_sample = 25;  // ... of trainings without a card or an architecture: far more of them
  Count trees = 40;
  int threads = kThreads;
  std::vector<std::string> leave_out;  // of trainings: source, gpu, architecture; empty: each
  bool train = false;  // leave each source, GPU and architecture out of a training; else what `keep` has of it is read
};
// Kernels at held-out shapes by the shipped weights, and those of trainings with something left out.
Result<KernelErrors> kernel_errors_of(const CoverageCommand& command);
Result<std::string> run_coverage(const CoverageCommand& command);

}  // namespace tilecast
