// The regressions behind `tilecast calibrate`, both with a prior at "nothing to correct", so that few rows move little:
//
//   1. factors on the card's physical quantities, each family's deviations from them, an offset of a family and of a
//      kernel source: all at once, rows far off counting less (Huber);
//   2. what is left, smooth over a family's places: a Gaussian process, cut to few points (pivoted Cholesky).
//
// How wide the priors are and how noisy the rows: what makes the rows most likely (evidence, MacKay 1992).
#pragma once

#include <span>
#include <string>

#include "estimate/calibrated.h"

namespace tilecast {

// A measured row beside its uncalibrated forecast.
struct CalibrationRow {
  std::string key, variant;  // model key; calibration_variant
  double measured_us = 0, forecast_us = 0, bound_us = 0;
  double plain_us = 0;             // forecast of a card whose power is its kind's; 0: forecast_us is
  double low_us = 0, high_us = 0;  // of the forecast's interval
  bool learned = true;             // false: the analytic forecast
  Terms terms;
  TunedRates rates;
  CalibrationPlace place{};
};

Calibration fit_calibration(std::span<const CalibrationRow* const> rows);

}  // namespace tilecast
