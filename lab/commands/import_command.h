// `tilecast import`: measured tables of others into one table of our own form.
#pragma once

#include <string>
#include <vector>

#include "tilecast/result.h"
#include "tilecast/units.h"

namespace tilecast {

struct ImportCommand {
  std::string from;  // aiconfigurator, neusight or synperf
  std::vector<std::string> files;
  std::string out;
  Count most_bad = 100;
};
Result<std::string> run_import(const ImportCommand& command);

}  // namespace tilecast
