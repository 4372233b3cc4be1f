// `tilecast accuracy`: docs/accuracy.md from a folder of measured tables.
#pragma once

#include <string>

#include "support/result.h"
#include "units/units.h"

namespace tilecast {

struct AccuracyCommand {
  std::string data;                                // the folder that holds aiconfigurator/, neusight/ and synperf/
  std::string measurements = "data/measurements";  // our own
  std::string out;                                 // written whole or not at all
  Count sample = 2000;
};
Result<std::string> run_accuracy(const AccuracyCommand& command);

}  // namespace tilecast
