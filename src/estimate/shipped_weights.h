// The weights that ship with the program (data/weights/tilecast.weights), embedded in it.
#pragma once

#include "estimate/weights.h"

namespace tilecast {

// Read once, on the first call; thread-safe.
const Weights& shipped_weights();

}  // namespace tilecast
