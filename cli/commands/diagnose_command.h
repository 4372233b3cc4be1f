// `tilecast diagnose TRACE`: a recorded run against the forecast.
#pragma once

#include <optional>
#include <string>

#include "tilecast/diagnose.h"

namespace tilecast {

struct DiagnoseOptions {
  DiagnoseQuery query;
  std::string html;  // also write this page
  std::string svg;   // also write its plots to files whose names start so
  Count top = 15;    // kernels listed
  bool json = false;
  std::optional<Error> refusal;  // of a flag's value
};

Result<std::string> run_diagnose(const DiagnoseOptions& options);

}  // namespace tilecast
