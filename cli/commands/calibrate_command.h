// `tilecast calibrate`: measured rows of a card in, a GPU description that knows them out.
#pragma once

#include <string>
#include <vector>

#include "support/result.h"

namespace tilecast {

struct CalibrateCommand {
  std::string gpu;
  std::vector<std::string> data;
  std::string out;
  std::string weights;  // empty: those shipped
  std::string judge;    // a table to judge the result by; empty: none
  bool json = false;
};
Result<std::string> run_calibrate(const CalibrateCommand& command);

}  // namespace tilecast
