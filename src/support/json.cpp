#include "support/json.h"

#include <nlohmann/json.hpp>

namespace tilecast {

bool is_object_text(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

Result<nlohmann::json> parse_json_object(std::string_view text, const std::string& place, const std::string& remedy) {
  try {
    nlohmann::json parsed = nlohmann::json::parse(text);
    if (!parsed.is_object()) return Error{place, "", "must be a JSON object", remedy};
    return parsed;
  } catch (const nlohmann::json::exception& failure) {
    std::string reason = failure.what();  // "[json.exception.parse_error.101] parse error at line 3, column 5: ..."
    if (const auto bracket = reason.find("] "); bracket != std::string::npos) reason = reason.substr(bracket + 2);
    return Error{place, "", "is not valid JSON: " + reason, "mend the syntax there"};
  }
}

}  // namespace tilecast
