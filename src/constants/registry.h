// All constants of the physics, for listings, docs/constants.md and the laboratory's fit.
#pragma once

#include <vector>

#include "constants/constant.h"

namespace tilecast {

// In the order of the headers of this folder.
std::vector<const Constant*> all_constants();
// Those that `tilecast-lab fit` can move.
std::vector<const Tunable*> all_tunables();

}  // namespace tilecast
