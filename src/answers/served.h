// Questions of others than this machine's user: over a network, or of an assistant. Files come by value, as
// {"name": "trace.json.gz", "base64": "..."}; nothing is written and no command is started. Paths are refused where
// restrict_inputs() (support/input.h) says so.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "tilecast/result.h"

namespace tilecast {

Result<std::string> ask_served(std::string_view question, std::string_view query);
Result<std::string> ask_served(std::string_view question, nlohmann::json query);

}  // namespace tilecast
