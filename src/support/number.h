// A number as text, whole and finite or nothing.
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

namespace tilecast {

inline std::optional<double> finite_number(std::string_view text) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace tilecast
