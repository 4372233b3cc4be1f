#include "api/declare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "support/amount.h"
#include "support/text.h"

namespace tilecast {
namespace {

Error refused(const Argument& about, std::string problem, std::string remedy = {}) {
  return field_error(about.name, std::move(problem), std::move(remedy));
}

std::string remedy_of(const Argument& about) {
  return about.example.empty() ? std::string() : "for example " + about.example;
}

Status in_range(const Argument& about, double value) {
  if (value >= about.least && value <= about.most) return Ok{};
  if (!(value > 0) && about.least > 0 && about.least < 1)  // a bound that only keeps arithmetic in range is no news
    return refused(about, fmt::format("must be above 0, not {}", number_text(value)), remedy_of(about));
  if (std::isinf(about.most))
    return refused(about, fmt::format("must be at least {}, not {}", number_text(about.least), number_text(value)),
                   remedy_of(about));
  if (std::isinf(about.least))
    return refused(about, fmt::format("must be at most {}, not {}", number_text(about.most), number_text(value)),
                   remedy_of(about));
  return refused(about,
                 fmt::format("must lie between {} and {}, not {}", number_text(about.least), number_text(about.most),
                             number_text(value)),
                 remedy_of(about));
}

// The refusal of an argument outside its scope, while the other argument has this value.
Error out_of_scope(const std::string& name, const Scope& scope, const std::string& value) {
  std::string problem = scope.problem, remedy = scope.remedy;
  const bool wants_other = scope.values.empty();
  if (problem.empty())
    problem = wants_other ? fmt::format("has no effect without {}", scope.argument)
                          : fmt::format("has no effect with {} {}", scope.argument, value);
  if (remedy.empty())
    remedy = wants_other ? fmt::format("give {} too, or leave it out", scope.argument)
                         : fmt::format("it is for {} {}; leave it out", scope.argument, join_or(scope.values));
  return field_error(name, std::move(problem), std::move(remedy));
}

}  // namespace

std::string number_text(double value) {
  for (const auto& [unit, suffix] : {std::pair(1e12, 'T'), std::pair(1e9, 'B')})
    if (value >= unit && value < 1e6 * unit && value == unit * std::floor(value / unit))
      return fmt::format("{}{}", static_cast<Count>(value / unit), suffix);
  if (value == std::floor(value) && std::abs(value) < 1e15) return fmt::format("{}", static_cast<Count>(value));
  return fmt::format("{:g}", value);
}

std::string size_text(Bytes size) {
  const double value = in_bytes(size);
  if (value == std::floor(value) && std::abs(value) < 1e15) return fmt::format("{}", static_cast<Count>(value));
  return fmt::format("{}", value);
}

std::string joined(const std::vector<std::string>& parts) { return join(parts, ","); }

std::vector<std::string> parts_of(std::string_view text) { return split(text, ','); }

Result<Count> count_value(const Argument& about, std::string_view text) {
  const auto whole = whole_amount_from(text);
  if (!whole)
    return refused(about, fmt::format("must be a whole number, not '{}'", text), amount_remedy(text, remedy_of(about)));
  if (auto fine = in_range(about, static_cast<double>(*whole)); !fine) return fine.error();
  return *whole;
}

Result<double> number_value(const Argument& about, std::string_view text) {
  const auto value = amount_from(text);
  if (!value)
    return refused(about, fmt::format("must be a number, not '{}'", text), amount_remedy(text, remedy_of(about)));
  if (auto fine = in_range(about, *value); !fine) return fine.error();
  return *value;
}

Result<Bytes> size_value(const Argument& about, std::string_view text) {
  constexpr double kMost = 1e15;
  const auto value = bytes_from(text);
  if (!value) return refused(about, fmt::format("is not a size: '{}'", text), std::string(kBytesRemedy));
  if (*value > kMost)
    return refused(about, fmt::format("must be at most {:g} bytes, not '{}'", kMost, text), "for example 1G");
  return bytes(*value);
}

Result<bool> yes_no_value(const Argument& about, std::string_view text) {
  const std::string key = name_key(text);
  if (key.empty() || key == "yes" || key == "true" || key == "1" || key == "on") return true;
  if (key == "no" || key == "false" || key == "0" || key == "off") return false;
  return refused(about, fmt::format("must be yes or no, not '{}'", text), "leave it out for its default");
}

Result<std::size_t> choice_value(const Argument& about, std::string_view text) {
  for (std::size_t i = 0; i < about.choices.size(); ++i)
    if (name_key(about.choices[i]) == name_key(text)) return i;
  return refused(about, fmt::format("must be {}, not '{}'", join_or(about.choices), text),
                 suggestion(text, about.choices, remedy_of(about)));
}

Status check_scopes(const std::vector<BoundArgument>& arguments, const std::vector<std::string>& defaults,
                    const Effective& effective) {
  const auto is_given = [&](std::size_t i) { return arguments[i].get() != defaults[i]; };
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Argument& about = arguments[i].about;
    if (about.scopes.empty() || !is_given(i)) continue;
    for (const Scope& scope : about.scopes) {
      std::string value;
      bool given = false;
      for (std::size_t k = 0; k < arguments.size(); ++k)
        if (arguments[k].about.name == scope.argument) value = arguments[k].get(), given = is_given(k);
      if (const auto known = effective.find(scope.argument); known != effective.end())
        value = known->second, given = !value.empty();
      const bool holds = scope.values.empty()
                             ? given
                             : std::find(scope.values.begin(), scope.values.end(), value) != scope.values.end();
      if (!holds) return out_of_scope(about.name, scope, value);
    }
  }
  return Ok{};
}

Status set_argument(const std::vector<BoundArgument>& arguments, std::string_view name, std::string_view text) {
  for (const BoundArgument& argument : arguments)
    if (argument.about.name == name) return argument.set(text);
  std::vector<std::string> names;
  names.reserve(arguments.size());
  for (const BoundArgument& argument : arguments) names.push_back(argument.about.name);
  return field_error(std::string(name), "is not an argument of this question",
                     suggestion(name, names, "it takes " + join(names, ", ")));
}

}  // namespace tilecast
