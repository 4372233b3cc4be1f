#include "support/amount.h"

#include <cctype>
#include <cmath>

#include "support/number.h"

namespace tilecast {
namespace {

constexpr double kStep = 1000, kBinaryStep = 1024;

// The power of a prefix: 1 for k, 2 for M; 0: none.
int power_of(char prefix) {
  switch (prefix) {
    case 'k': return 1;
    case 'M': return 2;
    case 'B':
    case 'G': return 3;
    case 'T': return 4;
    default: return 0;
  }
}

int taken_power(std::string_view& text, char prefix) {
  const int power = power_of(prefix);
  if (power > 0) text.remove_suffix(1);
  return power;
}

// Removes the suffix of a count from its digits, and returns its factor.
double taken_factor(std::string_view& text) {
  if (text.empty()) return 1;
  if (!text.ends_with('i')) return std::pow(kStep, taken_power(text, text.back()));
  const char prefix = text.size() > 1 ? text[text.size() - 2] : ' ';
  const int power = prefix == 'K' ? 1 : prefix == 'B' || prefix == 'k' ? 0 : power_of(prefix);
  if (power > 0) text.remove_suffix(2);
  return std::pow(kBinaryStep, power);
}

// ... of a size.
double taken_bytes_factor(std::string_view& text) {
  const bool named = text.ends_with('B') || text.ends_with('b');
  if (named) text.remove_suffix(1);
  const bool binary = text.ends_with('i');
  if (binary) text.remove_suffix(1);
  const char prefix = text.empty() ? ' ' : static_cast<char>(std::toupper(static_cast<unsigned char>(text.back())));
  const int power = prefix == 'B' ? 0 : taken_power(text, prefix == 'K' ? 'k' : prefix);
  return std::pow(named && !binary ? kStep : kBinaryStep, power);
}

}  // namespace

std::optional<double> amount_from(std::string_view text) {
  const double factor = taken_factor(text);
  const auto value = finite_number(text);
  if (!value || !std::isfinite(*value * factor)) return std::nullopt;
  return *value * factor;
}

std::optional<std::int64_t> whole_amount_from(std::string_view text) {
  if (const auto plain = to_count(text)) return plain;
  constexpr double kMost = 9e18;
  const auto value = amount_from(text);
  if (!value || *value != std::floor(*value) || std::abs(*value) > kMost) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

std::optional<double> bytes_from(std::string_view text) {
  const double factor = taken_bytes_factor(text);
  const auto value = finite_number(text);
  if (!value || !(*value >= 0) || !std::isfinite(*value * factor)) return std::nullopt;
  return *value * factor;
}

std::string amount_remedy(std::string_view text, std::string otherwise) {
  if (!text.ends_with('K')) return otherwise;
  text.remove_suffix(1);
  const std::string digits(text);
  if (!finite_number(digits)) return otherwise;
  return digits + "k for thousands, " + digits + "Ki for 1024s";
}

}  // namespace tilecast
