// `tilecast-lab drawn`: PyTorch's kernels at shapes drawn at random, beside their forecasts.
#pragma once

#include <string>

#include "tilecast/result.h"

namespace tilecast {

struct DrawnCommand {
  std::string measurements = "data/measurements/h200_draw_judge.csv.gz";
  std::string products = "data/measurements/h200_products_judge.csv.gz";
  std::string weights;  // the shipped ones unless given
  std::string out;      // a page to write instead of printing text
};
Result<std::string> run_drawn(const DrawnCommand& command);

}  // namespace tilecast
