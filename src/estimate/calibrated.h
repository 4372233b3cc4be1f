// How a calibration changes a forecast:
//
//   t' = t * tuned(terms, rates of the card) / tuned(terms, rates) * exp(offset + sum of near points),  never below the
//   bound
//
// t is the forecast of the shipped weights, whose forests are unchanged. The card's factors act on the times of its
// parts, so what products reveal about DRAM helps norms too.
#pragma once

#include <span>

#include "estimate/features.h"
#include "estimate/tuning.h"
#include "gpu/calibration.h"
#include "kernel/kernel.h"

namespace tilecast {

// The part of a calibration for one family and kernel source, looked up once for many kernels. Empty: none.
struct CalibrationStanding {
  const FamilyCalibration* family = nullptr;  // null: no row of the family; the card's factors alone
  CardFactors factors{};
  float offset = 0;
  std::string variant;
  bool any = false;
};
CalibrationStanding calibration_standing(const Calibration* calibration, std::string_view key,
                                         std::string_view variant);

// The categorical properties of a kernel: "pytorch/torch|graph|cold|backward". Engine and kernel before the first bar
// are its source.
std::string calibration_variant(const Kernel& kernel, const Context& context);
std::string_view variant_source(std::string_view variant);
bool is_eager(std::string_view variant);

// The rates with a card's factors applied.
TunedRates with_factors(const TunedRates& rates, const CardFactors& factors);

// A kernel's position: its features, scaled so that one unit is about the distance over which forecast errors stay
// similar.
CalibrationPlace calibration_place(const Features& relative, Seconds base);

// How much two rows have in common: 1 at the same position and in the same variant.
double likeness(const CalibrationPlace& a, std::string_view variant_a, const CalibrationPlace& b,
                std::string_view variant_b, double reach);

// Logarithm of what the forecast is multiplied by.
struct LogCorrection {
  double card = 0;  // by the factors
  double rest = 0;  // by offsets and points
  double whole() const { return card + rest; }
};
LogCorrection log_correction(const CalibrationStanding& standing, const Terms& terms, const TunedRates& rates,
                             const CalibrationPlace& place);

}  // namespace tilecast
