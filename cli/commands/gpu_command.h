// `tilecast gpus`, `tilecast gpu show NAME [--constants]`, `tilecast gpu check FILE`.
#pragma once

#include <optional>
#include <string>

#include "tilecast/gpu.h"

namespace tilecast {

struct GpuOptions {
  GpuQuery query;
  std::string file;        // to check
  bool constants = false;  // those of the physics, not the card's figures
  bool json = false;
  std::optional<Error> refusal;  // of a flag's value
};

Result<std::string> run_gpus(const GpuOptions& options);
Result<std::string> run_gpu_show(const GpuOptions& options);
// The constants of the physics that forecasts of the card use.
Result<std::string> run_gpu_constants(const GpuOptions& options);
Result<std::string> run_gpu_check(const GpuOptions& options);

}  // namespace tilecast
