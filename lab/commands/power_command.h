// `tilecast-lab power`: times, clocks and watts of our own measured loads beside their forecasts.
#pragma once

#include <string>

#include "tilecast/result.h"

namespace tilecast {

struct PowerCommand {
  std::string measurements = "data/measurements/h200_regimes.csv.gz";
  std::string gpu = "H200-SXM";
  std::string out;  // a page in place of text
};
Result<std::string> run_power(const PowerCommand& command);

}  // namespace tilecast
