// `tilecast kernel FAMILY ...`: forecasts of one kernel on several GPUs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tilecast/kernel.h"

namespace tilecast {

struct KernelOptions {
  KernelQuery query;
  std::vector<std::string> gpus, dtypes;  // asked of each
  bool explain = false;
  bool json = false;
  std::optional<Error> refusal;  // of a flag's value
};

// The whole output of the command.
Result<std::string> run_kernel(const KernelOptions& options);

}  // namespace tilecast
