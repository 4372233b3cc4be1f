// `tilecast-lab tune-judge`: the Triton configurations that we would pick, beside measured ones.
#pragma once

#include <string>

#include "tilecast/result.h"

namespace tilecast {

struct TuneJudgeOptions {
  std::string measurements = "data/measurements";
  std::string synperf;  // SynPerf's folder (fused_moe_triton.csv.gz, moe_configs/); empty: without it
  std::string plots;    // also draw docs/walkthrough.md's plots into this folder
  int fit_steps = 0;    // also refit the constants, in this many steps
  int seed = 1;
};
Result<std::string> run_tune_judge(const TuneJudgeOptions& options);

}  // namespace tilecast
