// Recorded PyTorch programs, forecast beside their measured steps: data/programs, data/measurements/h200_programs.csv
// and its kernels.
#pragma once

#include <string>
#include <vector>

#include "estimate/weights.h"
#include "tilecast/result.h"

namespace tilecast {

struct JudgedProgram {
  std::string name, half, mode, engine;  // half: choose or judge; of the last two sets: untouched
  std::string set = "first";             // of programs that were measured together: first, second, third or last
  bool host_bound = false;
  struct Figures {
    double kernels = 0, wall = 0;  // milliseconds
    double peak = 0;               // bytes
    double launches = 0;
  } measured, forecast;
  double recognised = 1;  // share of the profiler's time whose operators have a rule
};

// `folder` holds measurements/ and programs/. Programs whose record is missing are an error.
Result<std::vector<JudgedProgram>> judge_programs(const std::string& folder, const std::string& gpu,
                                                  const ModelSource& weights);

// Means over some of them.
struct ProgramErrors {
  int programs = 0, waiting = 0;           // of these, the host's
  double kernels = 0, wall = 0, peak = 0;  // mean absolute error; wall: of those that do not wait for the host
  double recognised = 1;                   // the least
};
ProgramErrors program_errors(const std::vector<JudgedProgram>& programs, const std::string& set,
                             const std::string& half, const std::string& engine);

std::string programs_report(const std::vector<JudgedProgram>& programs);

}  // namespace tilecast
