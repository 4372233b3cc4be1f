// The weights that ship with the program (data/weights/tilecast.weights), embedded in it.
#pragma once

#include <cstdint>

#include "estimate/weights.h"

namespace tilecast {

// Every model, read on the first call; thread-safe.
const Weights& shipped_weights();
// Each model is read when a forecast first needs it, so a single forecast is ready in milliseconds.
const ModelSource& shipped_models();
// CRC-32 of the file's content, which identifies it.
std::uint32_t shipped_weights_checksum();

}  // namespace tilecast
