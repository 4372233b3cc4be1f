// JSON texts to values, a mistake in them to one clear line; and values to text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "tilecast/result.h"

namespace tilecast {

// Whether a text that may be a name or a path is a JSON object instead: it begins with a brace.
bool is_object_text(std::string_view text);

// No file of ours, of Hugging Face or of an engine nests deeper. Values are copied and destroyed by recursion, so a
// text that nests without end would end the stack.
constexpr int kMostJsonDepth = 100;

// The value a text holds. `place` names the text in errors.
Result<nlohmann::json> parse_json(std::string_view text, const std::string& place);

// The object a text holds; `remedy` says what should stand there instead.
Result<nlohmann::json> parse_json_object(std::string_view text, const std::string& place, const std::string& remedy);

// The value as text with a newline behind it. Names come from files and command lines and need not be UTF-8: what is
// not is replaced, for JSON has no other way to say it.
std::string json_text(const nlohmann::json& json, int indent = 2);
std::string json_text(const nlohmann::ordered_json& json, int indent = 2);

}  // namespace tilecast
