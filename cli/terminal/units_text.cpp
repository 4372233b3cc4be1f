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

std::string text_of(Seconds t) {
  const double us = in_microseconds(t);
  if (us < 0.5e-5) return "0";
  if (us < 0.9995) return three_digits(us * 1e3) + " ns";
  if (us < 999.5) return three_digits(us) + " µs";
  if (us < 999.5e3) return three_digits(us / 1e3) + " ms";
  return three_digits(us / 1e6) + " s";
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

std::string text_of_days(double days) {
  if (days >= 2) return fmt::format("{:.3g} days", days);
  const double hours = 24 * days;
  if (hours >= 1) return fmt::format("{:.3g} hours", hours);
  return fmt::format("{:.3g} minutes", 60 * hours);
}

}  // namespace tilecast
