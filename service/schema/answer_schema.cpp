#include "service/schema/answer_schema.h"

#include <nlohmann/json.hpp>

#include "answers/answer_files.h"
#include "service/schema/argument_schema.h"

namespace tilecast {
namespace {

Json from_parsed(const nlohmann::ordered_json& value) {
  if (value.is_object()) {
    Json object = Json::object();
    for (const auto& [name, part] : value.items()) object[name] = from_parsed(part);
    return object;
  }
  if (value.is_array()) {
    Json array = Json::array();
    for (const auto& part : value) array.push_back(from_parsed(part));
    return array;
  }
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  return {};
}

// Where the question's answer may hold files: in the document, or in each object of a list.
void add_files(Json& schema) {
  Json& object = schema.contains("items") ? schema["items"] : schema;
  Json& files = object["properties"]["files"];
  files = Json{{"type", "array"}, {"description", "Where `files` was asked for: what the command line would write."}};
  files["items"] = Json{{"$ref", std::string(kInComponents) + "AnswerFile"}};
}

}  // namespace

Json answer_schema(const QuestionForm& form) {
  static const Json all = from_parsed(nlohmann::ordered_json::parse(embedded_answer_files().front().text));
  if (!all.contains(form.name)) return Json{{"type", Json{"object", "array"}}};
  Json one = Json(all)[form.name];
  if (!files_of(form.name).empty()) add_files(one);
  if (!form.sweeps) return one;
  // Over ranges: a list, in which every object begins with the numbers it is of.
  Json swept{
      {"type", "object"}, {"properties", Json{{"arguments", Json{{"type", "object"}}}}}, {"required", Json::array()}};
  swept["required"].push_back("arguments");
  return Json{{"anyOf", Json{one, Json{{"type", "array"}, {"items", swept}}}}};
}

}  // namespace tilecast
