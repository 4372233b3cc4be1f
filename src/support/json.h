// Parses JSON text into values, reporting a mistake in one clear line; and writes values as text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "tilecast/result.h"

namespace tilecast {

// Whether a text that may be a name or a path is a JSON object instead: it begins with a brace.
bool is_object_text(std::string_view text);

// No file of ours, of Hugging Face or of an engine nests deeper. Values are copied and destroyed by recursion, so
// endless nesting would overflow the stack.
constexpr int kMostJsonDepth = 100;

// The value a text holds. `place` names the text in errors.
Result<nlohmann::json> parse_json(std::string_view text, const std::string& place);

// The object a text holds; `remedy` says what should be there instead.
Result<nlohmann::json> parse_json_object(std::string_view text, const std::string& place, const std::string& remedy);

// The value as text followed by a newline. Names come from files and command lines and need not be UTF-8; invalid bytes
// are replaced, since JSON cannot express them.
std::string json_text(const nlohmann::json& json, int indent = 2);
std::string json_text(const nlohmann::ordered_json& json, int indent = 2);

}  // namespace tilecast
