#include "support/range.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include "support/amount.h"
#include "support/text.h"

namespace tilecast {
namespace {

constexpr const char* kWays = "for example 1,8,64, 8..64, 8..64:8 (steps) or 8..64*2 (factors)";

std::optional<double> value_of(std::string_view text, RangeOf kind) {
  if (kind == RangeOf::numbers) return amount_from(text);
  if (kind == RangeOf::bytes) return bytes_from(text);
  const auto whole = whole_amount_from(text);
  return whole ? std::optional(static_cast<double>(*whole)) : std::nullopt;
}

// Summing steps such as 0.1 leaves spurious digits.
double tidied(double value) {
  if (value == std::round(value)) return value;
  const std::string text = fmt::format("{:.15g}", value);
  double read = value;
  std::from_chars(text.data(), text.data() + text.size(), read);
  return read;
}

Error no_number(std::string_view text, RangeOf kind) {
  const char* what = kind == RangeOf::counts ? "whole number" : kind == RangeOf::bytes ? "size" : "number";
  return error(fmt::format("'{}' is not a {}", text, what), amount_remedy(text, kWays));
}

// One "from..to", optionally followed by a step or a factor.
struct Span {
  double from = 0, to = 0, step = 1;
  bool factor = false;
};

Result<Span> span_from(std::string_view text, std::size_t dots, RangeOf kind) {
  const std::string_view from = text.substr(0, dots), rest = text.substr(dots + 2);
  const std::size_t sign = rest.find_first_of(":*x");
  const std::string_view to = rest.substr(0, sign);
  if (from.empty() || to.empty()) return error(fmt::format("'{}' has no beginning or no end", text), kWays);
  Span span;
  for (const auto& [part, value] : {std::pair(from, &span.from), {to, &span.to}}) {
    const auto number = value_of(part, kind);
    if (!number) return no_number(part, kind);
    *value = *number;
  }
  if (span.to < span.from)
    return error(fmt::format("'{}' ends below its beginning", text), fmt::format("write {}..{}", to, from));
  if (sign == std::string_view::npos) return span;
  span.factor = rest[sign] != ':';
  const std::string_view by = rest.substr(sign + 1);
  const auto step = span.factor ? amount_from(by) : value_of(by, kind);
  if (!step) return no_number(by, span.factor ? RangeOf::numbers : kind);
  span.step = *step;
  if (span.factor && !(span.step > 1)) return error("the factor of a range must be above 1", "for example 8..64*2");
  if (!span.factor && !(span.step > 0)) return error("the step of a range must be above 0", "for example 8..64:8");
  if (span.factor && !(span.from > 0)) return error("a range with a factor must begin above 0", "for example 1..64*2");
  return span;
}

// How many values it has, as a real number: it may be more than can be counted.
double span_size(const Span& s) {
  constexpr double kSlack = 1e-9;  // an end that steps meet is met, whatever rounding did
  const double steps = s.factor ? std::log(s.to / s.from) / std::log(s.step) : (s.to - s.from) / s.step;
  return std::floor(steps + kSlack) + 1;
}

void add_once(std::vector<double>& values, double value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

}  // namespace

bool is_range(std::string_view text) { return contains(text, ",") || contains(text, ".."); }

Result<std::vector<double>> range_values(std::string_view text, RangeOf kind) {
  std::vector<double> values;
  double made = 0;
  for (const std::string& part : split(text, ',')) {
    if (part.empty()) return error(fmt::format("'{}' has nothing between two commas", text), kWays);
    const std::size_t dots = part.find("..");
    if (dots == std::string::npos) {
      const auto value = value_of(part, kind);
      if (!value) return no_number(part, kind);
      add_once(values, *value), made += 1;
      continue;
    }
    const auto span = span_from(part, dots, kind);
    if (!span) return span.error();
    made += span_size(*span);
    if (!(made <= static_cast<double>(kMostCombinations)))
      return error(fmt::format("'{}' makes {:.0f} values, more than {}", part, span_size(*span), kMostCombinations),
                   "a larger step (1..1000:100) or a factor (1..1000*2)");
    for (double i = 0; i < span_size(*span); ++i) {
      const double value = tidied(span->factor ? span->from * std::pow(span->step, i) : span->from + i * span->step);
      add_once(values, kind == RangeOf::numbers ? value : std::round(value));
    }
  }
  if (made > static_cast<double>(kMostCombinations))
    return error(fmt::format("makes {:.0f} values, more than {}", made, kMostCombinations), "fewer of them");
  return values;
}

}  // namespace tilecast
