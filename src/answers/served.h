// Questions of others than this machine's user: over a network, or of an assistant. Files come by value, as
// {"name": "trace.json.gz", "base64": "..."}; nothing is written and no command is started. Paths are refused where
// restrict_inputs() (support/input.h) says so.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <stop_token>
#include <string>
#include <string_view>

#include "tilecast/result.h"

namespace tilecast {

// What somebody who waits for a long answer may want.
struct AskWatch {
  std::function<void(double share)> progress = {};  // shares ascend; one call at a time, from any thread
  std::stop_token cancel = {};                      // simulations and plans end soon after, with an error
};

Result<std::string> ask_served(std::string_view question, std::string_view query, const AskWatch& watch = {});
Result<std::string> ask_served(std::string_view question, nlohmann::json query, const AskWatch& watch = {});

}  // namespace tilecast
