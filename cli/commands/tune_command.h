// `tilecast tune fused-moe` and `tilecast tune gemm`.
#pragma once

#include <optional>
#include <string>

#include "tilecast/tune.h"

namespace tilecast {

struct TuneOptions {
  MoeTuneQuery moe;
  GemmTuneQuery gemm;
  Measuring measuring;
  EngineFilesQuery files;
  std::string out;  // a folder for the engines' files
  bool json = false;
  std::optional<Error> refusal;  // of a flag's value
};
Result<std::string> run_tune_fused_moe(const TuneOptions& options);
Result<std::string> run_tune_gemm(const TuneOptions& options);

}  // namespace tilecast
