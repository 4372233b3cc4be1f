// Descriptions in JSON (GPUs, clusters), read field by field: ranges are checked, the first mistake is kept.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "support/printable.h"
#include "support/text.h"
#include "tilecast/result.h"

namespace tilecast {

// The fields that each object may have, by the object's name; "" is the whole.
using JsonObjectFields = std::map<std::string, std::vector<std::string>>;

// Reads fields of the description and keeps the first error; later reads return zeros and change nothing.
class JsonFields {
  using Json = nlohmann::json;
  static constexpr std::size_t kMostName = 200;

 public:
  // `missing` is the remedy if a number is absent, and if nothing better is known.
  JsonFields(const Json& root, std::string place, std::string missing)
      : root_(root), place_(std::move(place)), missing_(std::move(missing)) {}

  const std::optional<Error>& failure() const { return failure_; }
  void fail(const std::string& path, std::string problem, std::string remedy = {}) {
    if (!failure_) failure_ = Error{place_, path, std::move(problem), remedy.empty() ? missing_ : std::move(remedy)};
  }

  const Json* find(const std::string& path) const {
    const Json* at = &root_;
    for (const std::string& part : split(path, '.')) {
      if (!at->is_object() || !at->contains(part)) return nullptr;
      at = &(*at)[part];
    }
    return at;
  }

  // A number in [least, most]; `least` may be zero for what can be absent.
  double number(const std::string& path, double least, double most) {
    const Json* value = find(path);
    if (!value) return fail(path, "is missing", missing_), 0.0;
    if (!value->is_number()) return fail(path, "must be a number"), 0.0;
    const double v = value->get<double>();
    if (!(v >= least && v <= most))
      return fail(path, fmt::format("must lie between {} and {}, not {}", least, most, v)), 0.0;
    return v;
  }
  int whole(const std::string& path, int least, int most) {
    const double v = number(path, least, most);
    if (v != std::floor(v)) fail(path, fmt::format("must be a whole number, not {}", v));
    return static_cast<int>(v);
  }
  std::string text(const std::string& path) {
    const Json* value = find(path);
    if (!value) return fail(path, "is missing"), std::string();
    if (!value->is_string() || value->get<std::string>().empty()) return fail(path, "must be a text"), std::string();
    std::string found = value->get<std::string>();
    if (found.size() > kMostName) return fail(path, fmt::format("is longer than {} bytes", kMostName)), std::string();
    if (printable(found) != found) return fail(path, "holds characters that cannot be printed"), std::string();
    return found;
  }
  std::vector<std::string> texts(const std::string& path) {
    std::vector<std::string> list;
    const Json* value = find(path);
    if (!value) return list;
    if (!value->is_array()) return fail(path, "must be a list of texts"), list;
    for (const Json& item : *value) {
      if (!item.is_string()) return fail(path, "must be a list of texts"), list;
      list.push_back(item.get<std::string>());
    }
    return list;
  }
  // "field": "text" of an object that may be absent.
  std::map<std::string, std::string> text_map(const std::string& path) {
    std::map<std::string, std::string> found;
    const Json* value = find(path);
    if (!value) return found;
    if (!value->is_object()) return fail(path, "must be an object of texts"), found;
    for (const auto& [key, item] : value->items()) {
      if (!item.is_string()) return fail(inside(path, key), "must be a text"), found;
      found[key] = item.get<std::string>();
    }
    return found;
  }
  // Calls `use(key, value)` for each entry of an object of numbers.
  template <class Use>
  void numbers(const std::string& path, Use&& use) {
    const Json* value = find(path);
    if (!value) return fail(path, "is missing", "write {} where the hardware has none");
    if (!value->is_object()) return fail(path, "must be an object of numbers");
    for (const auto& [key, item] : value->items()) {
      if (failure_) return;
      const double v = number_at(inside(path, key), item);
      if (!failure_) use(key, v);
    }
  }
  void refuse_unknown_fields(const JsonObjectFields& known) {
    for (const auto& [object, fields] : known) {
      const Json* value = object.empty() ? &root_ : find(object);
      if (!value) continue;
      if (!value->is_object()) return fail(object, "must be an object");
      for (const auto& [key, item] : value->items())
        if (std::find(fields.begin(), fields.end(), key) == fields.end())
          return fail(inside(object, key), "unknown field",
                      suggestion(key, fields, "known here: " + join(fields, ", ")));
    }
  }

 private:
  static std::string inside(const std::string& object, const std::string& key) {
    return object.empty() ? key : fmt::format("{}.{}", object, key);
  }
  double number_at(const std::string& path, const Json& value) {
    if (!value.is_number()) return fail(path, "must be a number"), 0.0;
    const double v = value.get<double>();
    // No real value comes near either end, and between them no quotient overflows.
    if (!(v >= 1e-3 && v <= 1e9)) return fail(path, fmt::format("must lie between 0.001 and 1e9, not {}", v)), 0.0;
    return v;
  }
  const Json& root_;
  std::string place_, missing_;
  std::optional<Error> failure_;
};

}  // namespace tilecast
