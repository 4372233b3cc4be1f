// Views of recorded programs; each takes values and returns text.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tilecast/program.h"

namespace tilecast {

// One row each, and where the time and the memory of the first go.
std::string program_table(std::span<const Result<ProgramStep>> steps, std::span<const ProgramQuery> queries);
std::string program_breakdown(const ProgramStep& step);

}  // namespace tilecast
