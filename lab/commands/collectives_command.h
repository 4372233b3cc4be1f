// `tilecast-lab collectives --data DIR`: forecasts of collectives beside measured ones.
#pragma once

#include <string>

#include "tilecast/result.h"

namespace tilecast {

struct CollectivesCommand {
  std::string data;  // the folder that holds aiconfigurator/, synperf/ and collectives/
  std::string fit;   // a file of constants to write
  std::string out;   // a page to write, as `make accuracy` does
};
Result<std::string> run_collectives(const CollectivesCommand& command);

}  // namespace tilecast
