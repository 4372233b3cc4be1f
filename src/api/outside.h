// Whether a text for an argument stays within what Tilecast brings itself.
#pragma once

#include <string_view>

#include "tilecast/arguments.h"

namespace tilecast {

// Refuses what would read, write or run something of the machine: paths, standard input, commands.
Status check_stays_inside(const Argument& about, std::string_view text);

}  // namespace tilecast
