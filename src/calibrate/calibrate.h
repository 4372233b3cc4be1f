// A calibration of one card from measured rows, checked: a family whose rows are forecast no better by calibrations
// that have not seen them keeps its uncalibrated forecast.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibrate/calibration_fit.h"
#include "estimate/calibration_levels.h"
#include "estimate/learned.h"
#include "measure/planned_rows.h"
#include "tilecast/watch.h"

namespace tilecast {

// `model` null: the analytic forecast.
CalibrationRow calibration_row(const FamilyModel* model, const PlannedRow& row);

// Rows at shapes (family, format and dimensions) that none of the fitted ones has: those a fit may be judged by.
std::vector<Measurement> other_shapes(std::vector<Measurement> rows, const std::vector<Measurement>& fitted);

// The row's forecast under a calibration.
double calibrated_us(const Calibration& calibration, const CalibrationRow& row);
double error_of(double forecast_us, const CalibrationRow& row);  // |forecast - measured| / measured

// Fewer say nothing that would hold for another row.
inline constexpr std::size_t kLeastCalibrationRows = 12;

// What a family gained: rows judged by calibrations of the other four fifths.
struct CalibrationGain {
  std::string key;
  Count rows = 0;
  double before = 0, after = 0;  // mean error
  double uncorrected = 0;        // ... with the card's power alone
  bool kept = true;              // false: no better, so left as it was
};
struct CheckedCalibration {
  Calibration calibration;
  std::vector<CalibrationGain> gains;  // by key
  CalibrationGain sustained;           // of all rows measured under load that lasted, as `checked`
};
// Every row counting the same. `checked`: families that were not kept err as before.
CalibrationGain over_all(std::span<const CalibrationGain> gains, bool checked);

// Rows under a calibration that has not seen them.
std::vector<CalibrationGain> judge_calibration(const Calibration& calibration, std::span<const CalibrationRow> rows);

// Rows launched by the host tell of the host: they are used only where a family has no others.
// Rows in any order: fifths are by position, so shuffle what is sorted.
Result<CheckedCalibration> calibrate(std::span<const CalibrationRow> rows, const Watch& watch = {});

}  // namespace tilecast
