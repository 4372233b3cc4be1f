// `tilecast-lab collectives --data DIR`: forecasts of collectives beside measured ones.
#pragma once

#include <string>

#include "tilecast/result.h"

namespace tilecast {

struct CollectivesCommand {
  std::string data;  // the folder that holds aiconfigurator/ and synperf/
  std::string fit;   // a file of constants to write
};
Result<std::string> run_collectives(const CollectivesCommand& command);

}  // namespace tilecast
