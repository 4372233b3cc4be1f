// JSON texts to values, a mistake in them to one clear line.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "support/result.h"

namespace tilecast {

// Whether a text that may be a name or a path is a JSON object instead: it begins with a brace.
bool is_object_text(std::string_view text);

// The object a text holds. `place` names the text in errors; `remedy` says what should stand there instead.
Result<nlohmann::json> parse_json_object(std::string_view text, const std::string& place, const std::string& remedy);

}  // namespace tilecast
