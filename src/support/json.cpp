#include "support/json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace tilecast {
namespace {

// Whether brackets outside strings nest deeper than is sensible. Everything else is left to the parser.
bool too_deep(std::string_view text) {
  int depth = 0;
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inside && c == '\\') ++i;
    else if (c == '"') inside = !inside;
    else if (!inside && (c == '[' || c == '{') && ++depth > kMostJsonDepth) return true;
    else if (!inside && (c == ']' || c == '}')) --depth;
  }
  return false;
}

template <class Json>
std::string text_of(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

bool is_object_text(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

Result<nlohmann::json> parse_json(std::string_view text, const std::string& place) {
  if (too_deep(text))
    return Error{place, "", fmt::format("nests more than {} levels of brackets", kMostJsonDepth),
                 "is it the right file?"};
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& failure) {
    std::string reason = failure.what();  // "[json.exception.parse_error.101] parse error at line 3, column 5: ..."
    if (const auto bracket = reason.find("] "); bracket != std::string::npos) reason = reason.substr(bracket + 2);
    return Error{place, "", "is not valid JSON: " + reason, "mend the syntax there"};
  }
}

Result<nlohmann::json> parse_json_object(std::string_view text, const std::string& place, const std::string& remedy) {
  auto parsed = parse_json(text, place);
  if (parsed && !parsed->is_object()) return Error{place, "", "must be a JSON object", remedy};
  return parsed;
}

std::string json_text(const nlohmann::json& json, int indent) { return text_of(json, indent); }
std::string json_text(const nlohmann::ordered_json& json, int indent) { return text_of(json, indent); }

}  // namespace tilecast
