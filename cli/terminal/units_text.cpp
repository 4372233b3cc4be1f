#include "cli/terminal/units_text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

namespace tilecast {
namespace {

using Prefixes = std::array<std::string_view, 6>;
constexpr Prefixes kDecimal = {"", "k", "M", "G", "T", "P"}, kBinary = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};

std::string with_prefix(double value, std::string_view unit, const Prefixes& prefixes = kDecimal, double step = 1000) {
  if (std::abs(value) < 0.005) value = 0;  // the tail of a smooth formula, not an amount
  std::size_t i = 0;
  while (std::abs(value) >= step - 0.5 && i + 1 < prefixes.size()) value /= step, ++i;
  return fmt::format("{} {}{}", three_digits(value), prefixes[i], unit);
}

}  // namespace

std::string three_digits(double value) {
  const double magnitude = std::abs(value);
  if (magnitude == 0) return "0";
  if (magnitude >= 99.95) return fmt::format("{:.0f}", value);
  if (magnitude >= 9.995) return fmt::format("{:.1f}", value);
  if (magnitude >= 0.0095) return fmt::format("{:.2f}", value);
  return fmt::format("{:.2g}", value);
}

std::string grouped(Count n) {
  std::string digits = std::to_string(n);
  for (auto i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > (n < 0 ? 1 : 0); i -= 3)
    digits.insert(static_cast<std::size_t>(i), ",");
  return digits;
}

std::string text_of(Seconds t) {
  const double us = in_microseconds(t);
  if (us < 0.5e-5) return "0";
  if (us < 0.9995) return three_digits(us * 1e3) + " ns";
  if (us < 999.5) return three_digits(us) + " µs";
  if (us < 999.5e3) return three_digits(us / 1e3) + " ms";
  constexpr double kMinute = 60, kHour = 3600, kDay = 86400;
  const double s = us / 1e6;
  // Two of the next unit change to it, and what rounds to two: no end of an interval is 120 s beside another in
  // minutes.
  if (s < 119.5) return three_digits(s) + " s";
  if (s < 119.5 * kMinute) return three_digits(s / kMinute) + " minutes";
  if (s < 47.95 * kHour) return three_digits(s / kHour) + " hours";
  return (s < 999.5 * kDay ? three_digits(s / kDay) : grouped(std::llround(s / kDay))) + " days";
}
std::string text_of(Bytes b) { return with_prefix(in_bytes(b), "B", kBinary, 1024); }
std::string text_of(Ops o) { return with_prefix(in_ops(o), ""); }
std::string text_of(BytesPerSecond r) { return with_prefix(r.base(), "B/s"); }
std::string text_of(OpsPerSecond r) { return with_prefix(r.base(), "/s"); }
std::string percent(double share) {
  if (!std::isfinite(share)) return "–";   // a share of nothing
  if (std::abs(share) < 0.005) share = 0;  // what rounding leaves of zero may be negative
  return fmt::format("{:.0f} %", share * 100);
}

std::string text_of_count(double n) {
  constexpr std::array<std::string_view, 5> kSuffixes = {"", " k", " M", " B", " T"};
  std::size_t i = 0;
  while (std::abs(n) >= 999.5 && i + 1 < kSuffixes.size()) n /= 1000, ++i;
  if (std::abs(n) >= 999.5) return grouped(std::llround(n)) + std::string(kSuffixes[i]);
  return fmt::format("{:.3g}{}", n, kSuffixes[i]);
}

std::string text_of_usd(double dollars) {
  if (dollars >= 999.995) return "$" + grouped(std::llround(dollars));
  if (dollars >= 0.0995 || dollars == 0) return fmt::format("${:.2f}", dollars);
  return fmt::format("${:.2g}", dollars);
}

std::string text_of_rate(double n) { return n >= 999.5 ? grouped(std::llround(n)) : three_digits(n); }

std::string text_of_energy(double joules) {
  constexpr double kKilowattHour = 3.6e6;
  if (joules < 0.9995) return fmt::format("{:.3g} J", joules);  // of a token
  if (joules < 999.5) return three_digits(joules) + " J";
  if (joules < kKilowattHour) return three_digits(joules / 1e3) + " kJ";
  const double hours = joules / kKilowattHour;
  return hours < 999.5 ? three_digits(hours) + " kWh" : text_of_rate(hours / 1e3) + " MWh";
}

std::string text_of_power(double watts) { return with_prefix(watts, "W"); }

std::string text_of_interval(Seconds low, Seconds high) { return text_of(low) + " – " + text_of(high); }

}  // namespace tilecast
