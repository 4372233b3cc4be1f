// `tilecast-lab import`: turns other people's measured tables into one table in our own form.
#pragma once

#include <string>
#include <vector>

#include "tilecast/result.h"
#include "tilecast/units.h"

namespace tilecast {

struct ImportCommand {
  std::string from;  // one of source_names()
  std::vector<std::string> files;
  std::string out;
  Count most_bad = 100;
};
Result<std::string> run_import(const ImportCommand& command);

}  // namespace tilecast
