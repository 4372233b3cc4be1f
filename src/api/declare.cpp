#include "api/declare.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>

#include "support/text.h"

namespace tilecast {
namespace {

// "15T" is 15e12.
double taken_suffix(std::string_view& text) {
  if (text.empty()) return 1;
  double factor = 1;
  switch (text.back()) {
    case 'k':
    case 'K': factor = 1e3; break;
    case 'M': factor = 1e6; break;
    case 'B':
    case 'G': factor = 1e9; break;
    case 'T': factor = 1e12; break;
    default: return 1;
  }
  text.remove_suffix(1);
  return factor;
}

Error refused(const Argument& about, std::string problem, std::string remedy = {}) {
  return field_error(about.name, std::move(problem), std::move(remedy));
}

std::string remedy_of(const Argument& about) {
  return about.example.empty() ? std::string() : "for example " + about.example;
}

Status in_range(const Argument& about, double value) {
  if (value >= about.least && value <= about.most) return Ok{};
  if (!(value > 0) && about.least > 0 && about.least < 1)  // a bound that only keeps arithmetic in range is no news
    return refused(about, fmt::format("must be above 0, not {}", number_text(value)));
  if (std::isinf(about.most))
    return refused(about, fmt::format("must be at least {}, not {}", number_text(about.least), number_text(value)));
  if (std::isinf(about.least))
    return refused(about, fmt::format("must be at most {}, not {}", number_text(about.most), number_text(value)));
  return refused(about, fmt::format("must lie between {} and {}, not {}", number_text(about.least),
                                    number_text(about.most), number_text(value)));
}

// "a, b or c"
std::string alternatives(const std::vector<std::string>& choices) {
  std::string text;
  for (std::size_t i = 0; i < choices.size(); ++i)
    text += (i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ") + choices[i];
  return text;
}

std::optional<double> finite_of(std::string_view text) {
  const double factor = taken_suffix(text);
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || !std::isfinite(value * factor)) return {};
  return value * factor;
}

}  // namespace

std::string number_text(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15) return fmt::format("{}", static_cast<Count>(value));
  return fmt::format("{:g}", value);
}

std::string size_text(Bytes size) {
  const double value = in_bytes(size);
  return value == std::floor(value) && std::abs(value) < 1e15 ? number_text(value) : fmt::format("{}", value);
}

std::string joined(const std::vector<std::string>& parts) { return join(parts, ","); }

std::vector<std::string> parts_of(std::string_view text) { return split(text, ','); }

Result<Count> count_value(const Argument& about, std::string_view text) {
  Count whole = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (problem != std::errc() || end != text.data() + text.size()) {
    const auto value = finite_of(text);  // 15T, 2.5B, 1e9
    if (!value || *value != std::floor(*value) || std::abs(*value) > 9e18)
      return refused(about, fmt::format("must be a whole number, not '{}'", text), remedy_of(about));
    whole = static_cast<Count>(*value);
  }
  if (auto fine = in_range(about, static_cast<double>(whole)); !fine) return fine.error();
  return whole;
}

Result<double> number_value(const Argument& about, std::string_view text) {
  const auto value = finite_of(text);
  if (!value) return refused(about, fmt::format("must be a number, not '{}'", text), remedy_of(about));
  if (auto fine = in_range(about, *value); !fine) return fine.error();
  return *value;
}

Result<Bytes> size_value(const Argument& about, std::string_view text) {
  std::string_view digits = text;
  double unit = 1;
  const char last = digits.empty() ? '\0' : static_cast<char>(std::toupper(static_cast<unsigned char>(digits.back())));
  const auto place = last == '\0' ? std::string_view::npos : std::string_view("KMG").find(last);
  if (place != std::string_view::npos) {
    unit = std::pow(1024.0, static_cast<double>(place) + 1);
    digits.remove_suffix(1);
  }
  constexpr double kMost = 1e15;
  double value = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (problem != std::errc() || end != digits.data() + digits.size() || !(value >= 0) || !(value * unit <= kMost))
    return refused(about, fmt::format("is no size: '{}'", text), "for example 256, 64K, 1M or 1G");
  return bytes(value * unit);
}

Result<bool> yes_no_value(const Argument& about, std::string_view text) {
  const std::string key = name_key(text);
  if (key.empty() || key == "yes" || key == "true" || key == "1" || key == "on") return true;
  if (key == "no" || key == "false" || key == "0" || key == "off") return false;
  return refused(about, fmt::format("must be yes or no, not '{}'", text));
}

Result<std::size_t> choice_value(const Argument& about, std::string_view text) {
  for (std::size_t i = 0; i < about.choices.size(); ++i)
    if (name_key(about.choices[i]) == name_key(text)) return i;
  return refused(about, fmt::format("must be {}, not '{}'", alternatives(about.choices), text),
                 suggestion(text, about.choices, ""));
}

Status set_argument(const std::vector<BoundArgument>& arguments, std::string_view name, std::string_view text) {
  for (const BoundArgument& argument : arguments)
    if (argument.about.name == name) return argument.set(text);
  return field_error(std::string(name), "is no argument of this question");
}

}  // namespace tilecast
