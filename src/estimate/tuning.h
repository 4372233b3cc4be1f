// The analytic forecast broken down into a few terms, and factors on them that training fits.
//
// The data sheet and the architecture give every term its default rate (estimate/physics.h). Measurements of other
// cards say by how much a kernel source of a tensor generation misses those rates: one factor per term, fitted before
// any tree is grown, so the trees only deal with what has no simple law. Factors are fitted at three levels, each held
// near the one above: all cards of a vendor, a tensor generation, a kernel source of that generation.
#pragma once

#include <array>

#include "estimate/estimate.h"
#include "estimate/physics.h"

namespace tilecast {

// Times of a kernel in microseconds, at the default rates. Launches with a main loop are summed; the rest are helpers.
struct Terms {
  float math = 0;  // tensor, vector and special-function pipes and shared memory, joined
  float l2 = 0;
  float dram = 0;
  float waiting = 0;   // dependent steps
  float prologue = 0;  // of tasks one after another
  float floor = 0;     // launch floors of all launches
  float helpers = 0;   // launches beside the main one, without their floors
  float overlap = 2;   // exponent that joins DRAM with the rest: 1 adds, a large value takes the longer
  bool looped = true;  // false: a streaming kernel, whose loads queue behind its first round trip
};
// `overlap`: of the card that the estimate is for.
Terms terms_of(const Plan& plan, const Estimate& analytic, const Overlap& overlap = {});

// The launch that takes longest.
std::size_t longest_launch(const Estimate& estimate);

struct Tuning {
  enum Factor { math, l2, dram, waiting, prologue, floor, helpers, overlap, kCount };
  std::array<float, kCount> log_factors{};  // of the terms; `overlap` of the exponent's excess over 1
  float extra_floor_us = 0;                 // helper kernels and host work of the source, at the reference clock
};

// A tuning made ready for many kernels on one card.
struct TunedRates {
  std::array<double, Tuning::kCount> factors{};
  double extra_floor_us = 0;  // on this card
};
// `floor_law`: see estimate/learned.h.
TunedRates tuned_rates(const Tuning& tuning, double floor_law);

// The tuned forecast in microseconds.
double tuned_time(const Terms& terms, const TunedRates& rates);
inline double tuned_time(const Terms& terms, const Tuning& tuning, double floor_law) {
  return tuned_time(terms, tuned_rates(tuning, floor_law));
}

}  // namespace tilecast
