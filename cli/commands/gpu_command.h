// `tilecast gpus`, `tilecast gpu show NAME`, `tilecast gpu check FILE`.
#pragma once

#include <string>

#include "support/result.h"

namespace tilecast {

Result<std::string> run_gpus(bool json);
Result<std::string> run_gpu_show(const std::string& name_or_file, bool json);
Result<std::string> run_gpu_check(const std::string& file);

}  // namespace tilecast
