// What `--method` and `--weights` ask for, where whole models are forecast.
#pragma once

#include <string>

#include "api/chosen_method.h"

namespace tilecast {

// `weights_file` may be empty.
Result<ChosenMethod> chosen_method(const std::string& method, const std::string& weights_file);

}  // namespace tilecast
