// Views of a calibration; each takes values and returns text.
#pragma once

#include <string>

#include "tilecast/calibrate.h"

namespace tilecast {

// What only the command knows: where the description went, and how long it took.
struct CalibrateRun {
  std::string written;
  std::string judge;  // table; empty: none
  double seconds = 0;
};

std::string calibration_text(const CalibrationReport& report, const CalibrateRun& run);
// For programs; field names are stable (docs/json.md).
std::string calibration_json_text(const CalibrationReport& report, const CalibrateRun& run);

}  // namespace tilecast
