// The "calibration" of a GPU description file, read and written.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "gpu/calibration.h"
#include "gpu/card_power.h"
#include "tilecast/result.h"

namespace tilecast {

// `place` names the file in errors; both read the whole section.
Result<CardPower> parse_card_power(const nlohmann::json& json, const std::string& place);
Result<Calibration> parse_calibration(const nlohmann::json& json, const std::string& place);
nlohmann::json calibration_json(const Calibration& calibration, const CardPower& power = {});

// A description text of a built-in card under its own name.
std::string like_description(const std::string& name);
// The description with this calibration in place of whatever it had. `place` names it in errors.
Result<std::string> with_calibration(const std::string& description, const std::string& place,
                                     const Calibration& calibration, const CardPower& power = {});

}  // namespace tilecast
