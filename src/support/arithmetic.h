// Small arithmetic that formulas share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tilecast {

// A count as a real number, for formulas that mix both.
constexpr double real(std::int64_t n) { return static_cast<double>(n); }

// A power by products, and a root, where the exponent is a small multiple of a half: many times faster than std::pow,
// which handles the others.
inline double power(double base, double exponent) {
  constexpr double kMostHalves = 64;
  const double halves = 2 * std::abs(exponent);
  const unsigned count = halves <= kMostHalves ? static_cast<unsigned>(halves) : 0;
  if (halves != static_cast<double>(count)) return std::pow(base, exponent);
  double product = count % 2 != 0 ? std::sqrt(base) : 1;
  for (unsigned left = count / 2; left > 0; left /= 2, base *= base)
    if (left % 2 != 0) product *= base;
  return exponent < 0 ? 1 / product : product;
}

// A power whose logarithm is no larger than about one, or which is only added to something larger: there a logarithm
// and an exponential lose no more than std::pow does, in two thirds of its time.
inline double plain_power(double base, double exponent) { return std::exp(exponent * std::log(base)); }

// p-norm of two times or amounts: p = 1 adds them, large p takes the longer. Values not above zero add nothing. The
// longer is factored out of the powers, so they neither overflow nor underflow.
inline double p_norm(double a, double b, double p) {
  const double longer = std::max(a, b), shorter = std::min(a, b);
  if (!(shorter > 0)) return longer;
  return longer * plain_power(1 + plain_power(shorter / longer, p), 1 / p);
}

}  // namespace tilecast
