// `tilecast calibrate`: measured rows of a card in, a GPU description that knows them out.
#pragma once

#include <optional>
#include <string>

#include "tilecast/calibrate.h"

namespace tilecast {

struct CalibrateOptions {
  CalibrateQuery query;
  std::string out;  // the description goes there
  bool json = false;
  std::optional<Error> refusal;  // of a flag's value
};
Result<std::string> run_calibrate(const CalibrateOptions& options);

}  // namespace tilecast
