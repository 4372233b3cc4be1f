#include "answers/ranges.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "support/text.h"

namespace tilecast {
namespace {

RangeOf range_kind(const Argument& about) {
  if (about.kind == ArgumentKind::number) return RangeOf::numbers;
  return about.kind == ArgumentKind::size ? RangeOf::bytes : RangeOf::counts;
}

// Lengths of requests are texts, since they may be distributions; most often they are plain numbers.
bool is_length(const Argument& about) {
  return about.kind == ArgumentKind::text && (about.name == "input" || about.name == "output");
}

}  // namespace

std::string range_text(double value) {
  constexpr double kMostWhole = 9e15;  // beyond, not every whole number is a double
  const bool whole = value == std::round(value) && std::abs(value) < kMostWhole;
  return whole ? fmt::format("{}", static_cast<std::int64_t>(value)) : fmt::format("{}", value);
}

bool takes_range(const Argument& about) {
  return about.kind == ArgumentKind::count || about.kind == ArgumentKind::number || about.kind == ArgumentKind::size ||
         is_length(about);
}

Result<std::vector<double>> range_of(const Argument& about, std::string_view text) {
  auto values = range_values(text, range_kind(about));
  if (!values) return field_error(about.name, values.error().problem, values.error().remedy);
  return values;
}

Result<std::vector<std::string>> spelled_out(const Argument& about, const std::vector<std::string>& values) {
  std::vector<std::string> all;
  for (const std::string& value : values) {
    if (!contains(value, "..")) {
      all.push_back(value);
      continue;
    }
    const auto numbers = range_of(about, value);
    if (!numbers) return numbers.error();
    for (const double number : *numbers) all.push_back(range_text(number));
  }
  return all;
}

}  // namespace tilecast
