// A time that follows the SMs' clock in part: with the clock twice as high, what computes takes half as long and what
// waits for memory as long as before.
#pragma once

#include "support/arithmetic.h"

namespace tilecast {

struct ClockedTime {
  double time = 0;
  double share = 0;  // -d log time / d log clock: 1 where all of it follows the clock, 0 where nothing does
};

inline ClockedTime operator+(const ClockedTime& a, const ClockedTime& b) {
  const double sum = a.time + b.time;
  return {sum, sum > 0 ? (a.time * a.share + b.time * b.share) / sum : 0};
}

inline const ClockedTime& longer(const ClockedTime& a, const ClockedTime& b) { return a.time < b.time ? b : a; }

// As p_norm of numbers (support/arithmetic.h).
inline ClockedTime p_norm(const ClockedTime& a, const ClockedTime& b, double p) {
  const ClockedTime &most = longer(a, b), &least = a.time < b.time ? a : b;
  if (!(least.time > 0)) return most;
  const double part = std::pow(least.time / most.time, p);
  return {most.time * std::pow(1 + part, 1 / p), (most.share + part * least.share) / (1 + part)};
}

}  // namespace tilecast
