// `tilecast-lab accuracy`: docs/accuracy.md and its plots from a folder of measured tables.
#pragma once

#include <string>
#include <vector>

#include "tilecast/result.h"
#include "tilecast/units.h"

namespace tilecast {

struct AccuracyCommand {
  std::string data;                                // the folder that holds aiconfigurator/, neusight/ and synperf/
  std::string measurements = "data/measurements";  // our own
  std::string out;                                 // written whole or not at all; plots go to plots/ beside it
  std::vector<std::string> families;               // empty: all
  Count sample = 2000;
  Count trees = 200;
  std::string only;                        // "calibration", "blind" or "whole-models": only that page
  bool analytic = false;                   // nothing learned
  std::string evidence = "data/evidence";  // figures of the blind test; those shown beside them are written there
  std::string keep = "build/coverage";     // where `coverage --train`, if it ran, put its left-out errors
};
Result<std::string> run_accuracy(const AccuracyCommand& command);

}  // namespace tilecast
