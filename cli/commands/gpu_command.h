// `tilecast gpus`, `tilecast gpu show NAME [--constants]`, `tilecast gpu check FILE`.
#pragma once

#include <string>

#include "support/result.h"

namespace tilecast {

Result<std::string> run_gpus(bool json);
Result<std::string> run_gpu_show(const std::string& name_or_file, bool json);
// The constants of the physics that a forecast of the card uses.
Result<std::string> run_gpu_constants(const std::string& name_or_file, bool json);
Result<std::string> run_gpu_check(const std::string& file);

}  // namespace tilecast
