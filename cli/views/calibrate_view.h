// Views of a calibration; each takes values and returns text.
#pragma once

#include <string>

#include "answers/documents.h"
#include "tilecast/calibrate.h"

namespace tilecast {

std::string calibration_text(const CalibrationReport& report, const CalibrateRun& run);

}  // namespace tilecast
