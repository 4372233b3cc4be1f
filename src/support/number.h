// Numbers from text: the whole text must be a number.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tilecast {

// As std::from_chars reads them: no spaces, no leading plus; a double may be "inf" or "nan".
template <class T>
std::optional<T> number_from(std::string_view text) {
  T value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// One within [least, most].
template <class T>
std::optional<T> number_between(std::string_view text, T least, T most) {
  const std::optional<T> value = number_from<T>(text);
  return value && *value >= least && *value <= most ? value : std::nullopt;
}

inline std::optional<std::int64_t> to_count(std::string_view text) { return number_from<std::int64_t>(text); }
inline std::optional<double> to_double(std::string_view text) { return number_from<double>(text); }

inline std::optional<double> finite_number(std::string_view text) {
  const std::optional<double> value = to_double(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

}  // namespace tilecast
