// `tilecast-lab coverage --data DIR`: how often 80 % intervals hold, and how wide they should be.
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
  std::string keep;                  // a folder that keeps the results of trainings; what is there is read
  std::string only;                  // kernels or runs; empty: both
  std::vector<std::string> sources;  // runs: some of end_to_end_sources(); empty: all
  std::string out;                   // a page to write: docs/accuracy/coverage.md
  std::string figures;               // data/evidence/visible.csv, to be written
  std::string constants;             // src/constants/intervals.h, to be rewritten
  Count sample = 100;                // kernels: rows per table, GPU, engine, family and dtype
  Count card_sample = 25;            // ... for trainings without a card or an architecture, of which there are far more
  Count trees = 40;
  int threads = kThreads;
  std::vector<std::string> leave_out;  // for trainings: source, gpu, architecture; empty: each of them
  bool train = false;  // leave each source, GPU and architecture out of a training; otherwise read what `keep` holds
};
// Kernels: the shipped weights at held-out shapes, and trainings with something left out.
Result<KernelErrors> kernel_errors_of(const CoverageCommand& command);
Result<std::string> run_coverage(const CoverageCommand& command);

}  // namespace tilecast
