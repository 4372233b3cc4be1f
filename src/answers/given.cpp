#include "answers/given.h"

#include <fmt/format.h>

#include <algorithm>

#include "answers/ranges.h"
#include "support/json.h"
#include "support/text.h"

namespace tilecast {
namespace {

using Value = nlohmann::json;

std::string hyphened(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

// Descriptions that may stand in place of a name.
bool takes_description(const std::string& name) { return name == "gpu" || name == "cluster" || name == "model"; }

// A text, a number or yes and no, as it would be typed.
Result<std::string> plain_text(const std::string& name, const Value& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return std::string(value.get<bool>() ? "true" : "false");
  if (value.is_number_unsigned()) return fmt::format("{}", value.get<std::uint64_t>());
  if (value.is_number_integer()) return fmt::format("{}", value.get<std::int64_t>());
  if (value.is_number()) return fmt::format("{}", value.get<double>());
  if (value.is_object() && takes_description(name)) return value.dump(-1, ' ', false, Value::error_handler_t::replace);
  return field_error(name, fmt::format("takes no {}", value.type_name()), "a text or a number");
}

// ... of a list with commas between its parts, of an object with name=value.
Result<std::string> whole_text(const std::string& name, const Value& value) {
  if (!value.is_array() && (!value.is_object() || takes_description(name))) return plain_text(name, value);
  std::vector<std::string> parts;
  for (const auto& [key, part] : value.items()) {
    auto text = plain_text(name, part);
    if (!text) return text;
    parts.push_back(value.is_object() ? key + "=" + *text : *std::move(text));
  }
  return join(parts, ",");
}

}  // namespace

Result<GivenArguments> GivenArguments::from(std::string_view query) {
  auto parsed = parse_json(query, "query");
  if (!parsed) return std::move(parsed).error();
  return from(*std::move(parsed));
}

Result<GivenArguments> GivenArguments::from(Value query) {
  if (!query.is_object()) return Error{"query", "", "must be a JSON object", R"(for example {"gpu": "H100-SXM"})"};
  GivenArguments given;
  for (auto& [name, value] : query.items()) {
    if (value.is_null()) continue;
    if (given.members_.contains(hyphened(name))) return field_error(name, "is given twice", "leave one of them out");
    given.members_[hyphened(name)] = std::move(value);
  }
  return given;
}

const Value* GivenArguments::find(const std::string& name) {
  known_.insert(name);
  const auto found = members_.find(name);
  return found == members_.end() ? nullptr : &*found;
}

Result<std::vector<std::string>> GivenArguments::take_list(const std::string& name) {
  std::vector<std::string> values;
  const Value* given = find(name);
  if (!given) return values;
  const Value list = given->is_array() ? *given : Value::array({*given});
  if (list.empty()) return field_error(name, "is an empty list", "leave it out, or give one value or more");
  for (const Value& value : list) {
    auto text = plain_text(name, value);
    if (!text) return std::move(text).error();
    values.push_back(*std::move(text));
  }
  return values;
}

Result<std::string> GivenArguments::take_text(const std::string& name) {
  const Value* given = find(name);
  return given ? plain_text(name, *given) : Result<std::string>(std::string());
}

Result<bool> GivenArguments::take_yes_no(const std::string& name) {
  const Value* given = find(name);
  if (!given) return false;
  if (given->is_boolean()) return given->get<bool>();
  return field_error(name, "must be true or false", "leave it out for its default");
}

Status GivenArguments::fill(const std::vector<BoundArgument>& arguments) {
  for (const BoundArgument& argument : arguments) {
    if (known_.contains(argument.about.name)) continue;  // taken apart before
    std::vector<std::string> names = argument.about.aliases;
    names.insert(names.begin(), argument.about.name);
    for (const std::string& name : names) {
      const Value* given = find(name);
      if (!given) continue;
      auto text = whole_text(argument.about.name, *given);
      if (!text) return text.error();
      if (argument.about.kind == ArgumentKind::counts && is_range(*text)) {
        const auto values = spelled_out(argument.about, split(*text, ','));
        if (!values) return values.error();
        text = join(*values, ",");
      }
      if (auto set = argument.set(*text); !set) return set;
    }
  }
  return Ok{};
}

Result<std::vector<std::pair<std::string, std::string>>> GivenArguments::take_rest() {
  std::vector<std::pair<std::string, std::string>> rest;
  for (const auto& [name, value] : members_.items()) {
    if (known_.contains(name)) continue;
    const auto text = whole_text(name, value);
    if (!text) return text.error();
    rest.emplace_back(name, *text);
  }
  for (const auto& [name, text] : rest) known_.insert(name);
  return rest;
}

Watch GivenArguments::progress() const {
  if (!watch_.progress && !watch_.cancel.stop_possible()) return {};
  return [watch = watch_](double share) {
    if (watch.progress) watch.progress(share);
    return !watch.cancel.stop_requested();
  };
}

Status GivenArguments::check_all_taken() const {
  for (const auto& [name, value] : members_.items()) {
    if (known_.contains(name)) continue;
    const std::vector<std::string> names(known_.begin(), known_.end());
    return field_error(name, "is not an argument of this question",
                       suggestion(name, names, names.empty() ? "it takes none" : "it takes " + join(names, ", ")));
  }
  return Ok{};
}

}  // namespace tilecast
