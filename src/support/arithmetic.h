// Small arithmetic that formulas share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tilecast {

// A count as a real number, for formulas that mix both.
constexpr double real(std::int64_t n) { return static_cast<double>(n); }

// p-norm of two times or amounts: p = 1 adds them, large p takes the longer. What is not above zero adds nothing. The
// longer is taken out of the powers, so that they neither overflow nor vanish.
inline double p_norm(double a, double b, double p) {
  const double longer = std::max(a, b), shorter = std::min(a, b);
  if (!(shorter > 0)) return longer;
  return longer * std::pow(1 + std::pow(shorter / longer, p), 1 / p);
}

}  // namespace tilecast
