// `tilecast gpus`, `tilecast gpu show NAME`, `tilecast gpu check FILE`.
#pragma once

#include <optional>
#include <string>

#include "tilecast/gpu.h"

namespace tilecast {

struct GpuOptions {
  GpuQuery query;
  std::string file;  // to check
  bool json = false;
  std::optional<Error> refusal;  // of a flag's value
};

Result<std::string> run_gpus(const GpuOptions& options);
Result<std::string> run_gpu_show(const GpuOptions& options);
Result<std::string> run_gpu_check(const GpuOptions& options);

}  // namespace tilecast
