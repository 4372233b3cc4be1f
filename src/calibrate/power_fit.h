// What rows of both regimes say of a card's silicon: the energy of its work, by runs that last and meet the power
// limit, and how far beyond the limit a burst goes. Two factors of the power law (estimate/power.h), so that steps of
// models and shapes that nobody measured under load follow.
#pragma once

#include <vector>

#include "calibrate/calibration_fit.h"
#include "estimate/weights.h"
#include "gpu/card_power.h"
#include "measure/measurement.h"
#include "tilecast/watch.h"

namespace tilecast {

// Rows beside their forecasts on a card with these factors; rows without a plan are counted.
std::vector<CalibrationRow> calibration_rows(const std::vector<Measurement>& rows, const Gpu& gpu,
                                             const CardPower& power, const ModelSource& weights,
                                             Count* unplanned = nullptr);

// Each factor is the likeliest under a prior of "as its kind": what a family is off by where power plays no part is
// taken off first. A regime without rows that meet the limit leaves its factor at zero.
Result<CardPower> fit_power(const std::vector<Measurement>& rows, const Gpu& gpu, const ModelSource& weights,
                            const Watch& watch = {});

}  // namespace tilecast
