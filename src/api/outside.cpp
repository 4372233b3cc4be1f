#include "api/outside.h"

#include <nlohmann/json.hpp>
#include <string>

#include "api/declare.h"
#include "model/library.h"
#include "support/json.h"
#include "support/text.h"

namespace tilecast {
namespace {

Error no_file(const Argument& about, const char* remedy) {
  return field_error(about.name, "files of the machine that answers cannot be named from here", remedy);
}

// What begins with a brace must be an object to the end: "{/../x.json" is a path to some reader.
bool is_whole_object(std::string_view text) {
  if (!is_object_text(text)) return false;
  const auto parsed = parse_json(text, "description");
  return parsed && parsed->is_object();
}

// GPUs and clusters are read from a file where the text, or what is left of "64x", ":4" and "@hdr200" around it, is
// "-", holds a slash or ends in .json (gpu/registry.cpp, cluster/registry.cpp).
bool may_be_a_path(std::string_view text) {
  if (contains(text, "/") || contains(text, ".json") || contains(text, std::string_view("\0", 1))) return true;
  while (true) {
    const std::string_view part = text.substr(0, text.find_first_of("xX*:@,\xc3\x97"));  // the last two: a times sign
    if (part == "-") return true;
    if (part.size() == text.size()) return false;
    text.remove_prefix(part.size() + 1);
  }
}

}  // namespace

Status check_stays_inside(const Argument& about, std::string_view text) {
  constexpr const char* kDescribe = "a built-in name, or the description itself as an object";
  constexpr const char* kSend = "send it as {\"name\": ..., \"base64\": ...}";
  switch (about.touches) {
    case Touches::nothing: return Ok{};
    case Touches::gpu:
    case Touches::gpus:
    case Touches::cluster:
      if (text.empty() || is_whole_object(text) || (!is_object_text(text) && !may_be_a_path(text))) return Ok{};
      return no_file(about, kDescribe);
    case Touches::model:
      if (text.empty() || is_whole_object(text) || is_bundled_model(std::string(text))) return Ok{};
      return in_field(
          no_such_model(text, "the question `models` lists the known ones; a config.json may stand here as an object"),
          about.name);
    case Touches::counts:
      if (!text.starts_with("counts:")) return Ok{};
      return no_file(about, kSend);
    case Touches::prices:
      if (text.empty() || contains(text, "=")) return Ok{};
      return no_file(about, kSend);
    case Touches::file:
      if (text.empty()) return Ok{};
      return no_file(about, kSend);
    case Touches::output:
      if (text.empty()) return Ok{};
      return field_error(about.name, "nothing is written to the machine that answers", "ask for \"files\": true");
    case Touches::command:
      if (text.empty()) return Ok{};
      return field_error(about.name, "no command is run on the machine that answers", "leave it out");
  }
  return Ok{};
}

}  // namespace tilecast
