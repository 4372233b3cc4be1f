// Views of kernel forecasts; each takes values and returns text.
#pragma once

#include <string>
#include <vector>

#include "tilecast/kernel.h"

namespace tilecast {

// A line per GPU, the first as the measure of speed.
std::string forecast_table(const KernelQuery& query, const std::vector<KernelForecast>& forecasts);
// The long answer: plan, schedule, what each pipe must do and how long that takes, and a roofline.
std::string explain_text(const KernelForecast& forecast);

}  // namespace tilecast
