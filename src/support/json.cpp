#include "support/json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

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

constexpr std::size_t kMostShown = 60;  // characters of a name

// Follows the parser and keeps the first name that an object holds twice: the parser itself takes the last value
// without a word.
class NamesOnce {
 public:
  explicit NamesOnce(std::optional<std::string>& twice) : twice_(&twice) {}
  bool operator()(int, nlohmann::json::parse_event_t event, const nlohmann::json& parsed) {
    using Event = nlohmann::json::parse_event_t;
    if (event == Event::object_start) open_.emplace_back();
    if (event == Event::object_end) open_.pop_back();
    if (event == Event::key && !*twice_ && !open_.back().insert(parsed.get<std::string>()).second)
      *twice_ = parsed.get<std::string>();
    return true;
  }

 private:
  std::optional<std::string>* twice_;
  std::vector<std::set<std::string>> open_;  // names of the objects that are not closed yet
};

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
                 "write it with fewer"};
  std::optional<std::string> twice;
  try {
    auto parsed = nlohmann::json::parse(text, NamesOnce{twice});
    if (twice)
      return Error{place, "", fmt::format("names '{}' twice in one object", twice->substr(0, kMostShown)),
                   "leave one of them out"};
    return parsed;
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
