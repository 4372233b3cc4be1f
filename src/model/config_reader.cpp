#include "model/config_reader.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "support/text.h"

namespace tilecast {

using Json = nlohmann::json;

namespace {
// Long values are cut: an error is one line. Lists and objects are named only, since writing them out recurses.
std::string shown(const Json& value) {
  if (value.is_array()) return "a list";
  if (value.is_object()) return "an object";
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() > 40 ? text.substr(0, 37) + "..." : text;
}
}  // namespace

ConfigReader::ConfigReader(const Json& root, std::string place, std::string prefix)
    : root_(root), place_(std::move(place)), prefix_(std::move(prefix)) {}

void ConfigReader::fail(std::string_view name, std::string problem, std::string remedy) {
  if (!failure_) failure_ = Error{place_, prefix_ + std::string(name), std::move(problem), std::move(remedy)};
}

void ConfigReader::adopt(const ConfigReader& other) {
  if (!failure_) failure_ = other.failure_;
}

const Json* ConfigReader::find(std::string_view path) const {
  const Json* at = &root_;
  while (!path.empty()) {
    const auto dot = path.find('.');
    if (!at->is_object()) return nullptr;
    const auto member = at->find(path.substr(0, dot));
    if (member == at->end() || member->is_null()) return nullptr;
    at = &*member;
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return at;
}

bool ConfigReader::has(const ConfigField& field) const { return !present_name(field).empty(); }

ConfigReader ConfigReader::reader_of(const Json* object, const std::string& path) const {
  static const Json kNothing = Json::object();
  const bool usable = object && object->is_object();
  ConfigReader reader(usable ? *object : kNothing, place_, prefix_ + path + ".");
  if (object && !usable)
    reader.failure_ = Error{place_, prefix_ + path, "must be an object, not " + shown(*object),
                            "as in the model's config.json on Hugging Face"};
  return reader;
}
ConfigReader ConfigReader::inside(std::string_view path) const { return reader_of(find(path), std::string(path)); }
ConfigReader ConfigReader::item(std::string_view path, std::size_t index) const {
  return reader_of(&(*find(path))[index], fmt::format("{}[{}]", path, index));
}

std::string_view ConfigReader::present_name(const ConfigField& field) const {
  if (const auto own = own_names_.find(field.names[0]); own != own_names_.end())
    return find(own->second) ? own->second : std::string_view();
  for (const std::string_view name : field.names)
    if (!name.empty() && find(name)) return name;
  return {};
}

Count ConfigReader::whole(std::string_view name, const Json& value, Count least, Count most) {
  if (!value.is_number()) return fail(name, "must be a whole number, not " + shown(value)), least;
  const double v = value.get<double>();
  if (!(v >= static_cast<double>(least) && v <= static_cast<double>(most)))
    return fail(name, fmt::format("must lie between {} and {}, not {}", least, most, shown(value))), least;
  if (v != std::floor(v)) return fail(name, "must be a whole number, not " + shown(value)), least;
  return static_cast<Count>(v);
}

Count ConfigReader::count(const ConfigField& field) {
  const std::string_view name = present_name(field);
  if (!name.empty()) return whole(name, *find(name), 1, field.most);
  if (const auto known = defaults_.find(field.names[0]); known != defaults_.end()) return known->second;
  const auto own = own_names_.find(field.names[0]);
  std::vector<std::string> others;
  if (own == own_names_.end())
    for (std::size_t i = 1; i < field.names.size() && !field.names[i].empty(); ++i) others.emplace_back(field.names[i]);
  fail(own == own_names_.end() ? field.names[0] : own->second, "is missing",
       others.empty() ? "give it as the model's config.json on Hugging Face does" : "or under " + join_or(others));
  return 1;
}

Count ConfigReader::count_or(const ConfigField& field, Count otherwise) {
  const std::string_view name = present_name(field);
  if (!name.empty()) return whole(name, *find(name), 0, field.most);
  const auto known = defaults_.find(field.names[0]);
  return known != defaults_.end() ? known->second : otherwise;
}

Count ConfigReader::count_or(std::string_view name, Count otherwise, Count most) {
  const Json* value = find(name);
  return value ? whole(name, *value, 0, most) : otherwise;
}

double ConfigReader::number_or(std::string_view name, double otherwise, double least, double most) {
  const Json* value = find(name);
  if (!value) return otherwise;
  if (!value->is_number()) return fail(name, "must be a number, not " + shown(*value)), otherwise;
  const double v = value->get<double>();
  if (!(v >= least && v <= most))
    return fail(name, fmt::format("must lie between {} and {}, not {}", least, most, shown(*value))), otherwise;
  return v;
}

bool ConfigReader::flag_or(std::string_view name, bool otherwise) {
  const Json* value = find(name);
  if (!value) return otherwise;
  if (!value->is_boolean()) return fail(name, "must be true or false, not " + shown(*value)), otherwise;
  return value->get<bool>();
}

std::string ConfigReader::text_or(std::string_view name, std::string otherwise) {
  const Json* value = find(name);
  if (!value) return otherwise;
  if (!value->is_string()) return fail(name, "must be a text, not " + shown(*value)), otherwise;
  return value->get<std::string>();
}

std::vector<std::string> ConfigReader::texts(std::string_view name) {
  std::vector<std::string> list;
  const Json* value = find(name);
  if (!value) return list;
  if (!value->is_array()) return fail(name, "must be a list of texts, not " + shown(*value)), list;
  for (const Json& item : *value) {
    if (!item.is_string()) return fail(name, "must be a list of texts, not of " + shown(item)), list;
    list.push_back(item.get<std::string>());
  }
  return list;
}

std::vector<Count> ConfigReader::counts(std::string_view name, Count most) {
  std::vector<Count> list;
  const Json* value = find(name);
  if (!value) return list;
  if (!value->is_array()) return {whole(name, *value, 0, most)};
  for (const Json& item : *value) list.push_back(whole(name, item, 0, most));
  return list;
}

}  // namespace tilecast
