// For tests: whether a value is as a schema says, by the keywords of JSON Schema 2020-12 that our schemas use. A
// keyword that is not among them fails, so that none is taken for checked.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace tilecast {

using SchemaValue = nlohmann::json;

inline bool has_type(const SchemaValue& value, const std::string& type) {
  if (type == "integer")
    return value.is_number_integer() ||
           (value.is_number() &&
            value.get<double>() == static_cast<double>(static_cast<std::int64_t>(value.get<double>())));
  if (type == "number") return value.is_number();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  return type == "null" && value.is_null();
}

class SchemaCheck {
 public:
  explicit SchemaCheck(const SchemaValue& document) : document_(document) {}

  // What is wrong, and where; empty: nothing.
  std::string mismatch(const SchemaValue& schema, const SchemaValue& value, const std::string& at = "") const {
    if (schema.is_boolean()) return schema.get<bool>() ? "" : at + ": nothing is allowed";
    for (const auto& [keyword, what] : schema.items()) {
      std::string wrong = by_keyword(schema, keyword, what, value, at);
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

 private:
  std::string by_keyword(const SchemaValue& schema, const std::string& keyword, const SchemaValue& what,
                         const SchemaValue& value, const std::string& at) const {
    static const std::set<std::string> notes = {"description", "title", "examples", "default",
                                                "$schema",     "$defs", "then",     "contentEncoding"};
    if (notes.contains(keyword) || keyword.starts_with("x-")) return "";
    if (keyword == "$ref")
      return mismatch(document_.at(SchemaValue::json_pointer(what.get<std::string>().substr(1))), value, at);
    if (keyword == "type") return of_types(what, value, at);
    if (keyword == "enum")
      return std::find(what.begin(), what.end(), value) != what.end()
                 ? ""
                 : at + ": " + value.dump() + " is none of " + what.dump();
    if (keyword == "const") return what == value ? "" : at + ": " + value.dump() + " is not " + what.dump();
    if (keyword == "minimum")
      return !value.is_number() || value >= what ? "" : at + ": " + value.dump() + " is below " + what.dump();
    if (keyword == "maximum")
      return !value.is_number() || value <= what ? "" : at + ": " + value.dump() + " is above " + what.dump();
    if (keyword == "minItems")
      return !value.is_array() || value.size() >= what.get<std::size_t>() ? "" : at + ": too few";
    if (keyword == "maxItems")
      return !value.is_array() || value.size() <= what.get<std::size_t>() ? "" : at + ": too many";
    if (keyword == "items") return of_items(what, value, at);
    if (keyword == "properties" || keyword == "additionalProperties")
      return keyword == "properties" ? of_members(what, value, at) : of_others(schema, what, value, at);
    if (keyword == "required") {
      for (const auto& name : what)
        if (value.is_object() && !value.contains(name.get<std::string>()))
          return at + ": lacks " + name.get<std::string>();
      return "";
    }
    if (keyword == "anyOf") {
      for (const auto& one : what)
        if (mismatch(one, value, at).empty()) return "";
      return at + ": " + value.dump().substr(0, 80) + " is none of several forms";
    }
    if (keyword == "allOf") {
      for (const auto& one : what)
        if (auto wrong = mismatch(one, value, at); !wrong.empty()) return wrong;
      return "";
    }
    if (keyword == "if") return mismatch(what, value, at).empty() ? mismatch(schema.at("then"), value, at) : "";
    return at + ": the keyword " + keyword + " is not checked";
  }

  static std::string of_types(const SchemaValue& types, const SchemaValue& value, const std::string& at) {
    if (types.is_string())
      return has_type(value, types) ? ""
                                    : at + ": " + value.dump().substr(0, 80) + " is no " + types.get<std::string>();
    for (const auto& type : types)
      if (has_type(value, type)) return "";
    return at + ": " + value.dump().substr(0, 80) + " is none of " + types.dump();
  }
  std::string of_items(const SchemaValue& schema, const SchemaValue& value, const std::string& at) const {
    if (!value.is_array()) return "";
    for (std::size_t i = 0; i < value.size(); ++i)
      if (auto wrong = mismatch(schema, value[i], at + "/" + std::to_string(i)); !wrong.empty()) return wrong;
    return "";
  }
  std::string of_members(const SchemaValue& schemas, const SchemaValue& value, const std::string& at) const {
    if (!value.is_object()) return "";
    for (const auto& [name, schema] : schemas.items())
      if (value.contains(name))
        if (auto wrong = mismatch(schema, value[name], at + "/" + name); !wrong.empty()) return wrong;
    return "";
  }
  std::string of_others(const SchemaValue& schema, const SchemaValue& what, const SchemaValue& value,
                        const std::string& at) const {
    if (!value.is_object()) return "";
    for (const auto& [name, member] : value.items()) {
      if (schema.contains("properties") && schema["properties"].contains(name)) continue;
      if (auto wrong = mismatch(what, member, at + "/" + name); !wrong.empty()) return wrong;
    }
    return "";
  }

  const SchemaValue& document_;
};

}  // namespace tilecast
