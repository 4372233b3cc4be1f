// The "calibration" of a GPU description file, read and written.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "gpu/calibration.h"
#include "support/result.h"

namespace tilecast {

// `place` names the file in errors.
Result<Calibration> parse_calibration(const nlohmann::json& json, const std::string& place);
nlohmann::json calibration_json(const Calibration& calibration);

}  // namespace tilecast
