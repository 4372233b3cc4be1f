// `tilecast tune fused-moe` and `tilecast tune gemm`.
#pragma once

#include <string>
#include <vector>

#include "kernel/gemm_tile.h"
#include "kernel/moe.h"
#include "support/result.h"

namespace tilecast {

struct TuneOptions {
  std::string gpu;
  std::string dtype = "bf16";
  int top = 5;          // configurations to show and to measure
  std::string measure;  // a command (tune/measure.h)
  double measure_seconds = 600;
  bool json = false;

  Moe moe;                    // but tokens
  std::vector<Count> tokens;  // none: those that the engines' own tuning scripts take
  std::string out;            // a folder for the engines' files
  std::string device_name;    // as the driver says it (default: by the description)
  std::string triton = "3.6.0";

  GemmProblem gemm;
};
Result<std::string> run_tune_fused_moe(const TuneOptions& options);
Result<std::string> run_tune_gemm(const TuneOptions& options);

}  // namespace tilecast
