// `tilecast simulate MODEL ...`: requests through a serving engine, and what their clients would measure.
#pragma once

#include <optional>
#include <string>

#include "tilecast/serving.h"

namespace tilecast {

struct SimulateOptions {
  SimulateQuery query;
  std::string requests, timeline;  // files to write
  bool json = false;
  std::optional<Error> refusal;  // of a flag's value
};

// The whole output of the command.
Result<std::string> run_simulate(const SimulateOptions& options);

}  // namespace tilecast
