// `tilecast-lab power`: measured times, clocks and watts of our own loads beside their forecasts.
#pragma once

#include <string>

#include "tilecast/result.h"

namespace tilecast {

struct PowerCommand {
  std::string measurements = "data/measurements/h200_regimes.csv.gz";
  std::string gpu = "H200-SXM";
  std::string out;  // a page to write instead of printing text
};
Result<std::string> run_power(const PowerCommand& command);

}  // namespace tilecast
