// A time that partly follows the SMs' clock: at twice the clock, computation takes half as long and waiting for memory
// as long as before.
#pragma once

#include "support/arithmetic.h"

namespace tilecast {

struct ClockedTime {
  double time = 0;
  double share = 0;  // -d log time / d log clock: 1 if all of it follows the clock, 0 if nothing does
  double bend = 0;   // d share / d log clock: a faster clock leaves less that follows it
};

inline ClockedTime operator+(const ClockedTime& a, const ClockedTime& b) {
  const double sum = a.time + b.time;
  if (!(sum > 0)) return {sum, 0, 0};
  const double part = b.time / sum, apart = a.share - b.share;
  return {sum, (a.time * a.share + b.time * b.share) / sum,
          (1 - part) * a.bend + part * b.bend - (1 - part) * part * apart * apart};
}

inline const ClockedTime& longer(const ClockedTime& a, const ClockedTime& b) { return a.time < b.time ? b : a; }

// As p_norm of numbers (support/arithmetic.h).
inline ClockedTime p_norm(const ClockedTime& a, const ClockedTime& b, double p) {
  const ClockedTime &most = longer(a, b), &least = a.time < b.time ? a : b;
  if (!(least.time > 0)) return most;
  const double part = plain_power(least.time / most.time, p), whole = 1 + part;
  const double apart = most.share - least.share;
  return {most.time * plain_power(whole, 1 / p), (most.share + part * least.share) / whole,
          (most.bend + part * least.bend) / whole - p * part / (whole * whole) * apart * apart};
}

}  // namespace tilecast
