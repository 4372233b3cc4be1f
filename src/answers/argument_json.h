// Declared arguments for programs: what the list of questions says of each.
#pragma once

#include <vector>

#include "support/json_value.h"
#include "tilecast/arguments.h"

namespace tilecast {

Json arguments_json(const std::vector<Argument>& arguments);

}  // namespace tilecast
