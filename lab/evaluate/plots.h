// The plots of docs/accuracy.md, as SVG files: where the errors are, how forecasts follow measurements, and which way
// they miss. Points are binned: a plot of a million rows is as small as one of a thousand.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lab/evaluate/judge.h"

namespace tilecast {

// Mean error of every GPU (down) and family (across), darker where larger.
std::string error_map(std::string_view title, const std::vector<Measurement>& rows,
                      const std::vector<Outcome>& outcomes);

// Forecast over measured time, one panel per family, on logarithmic axes, darker where rows are denser.
std::string forecast_against_measured(std::string_view title, const std::vector<Measurement>& rows,
                                      const std::vector<Outcome>& outcomes);

// How forecast / measured is distributed in each regime, one curve per method.
std::string residuals_by_regime(std::string_view title, const std::vector<Measurement>& rows,
                                const std::vector<MethodOutcomes>& methods);

}  // namespace tilecast
