// The constants of the physics that a forecast of a card uses.
#pragma once

#include <vector>

#include "constants/constant.h"
#include "gpu/gpu.h"

namespace tilecast {

// Whether a constant is one of this card's: by its architecture, compute capability, tensor pipe, vendor and memory.
bool holds_for(const Constant& constant, const Gpu& gpu);

// All of them, in the registry's order.
std::vector<const Constant*> constants_of(const Gpu& gpu);

}  // namespace tilecast
