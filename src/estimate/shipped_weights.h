// The weights that ship with the program (data/weights/tilecast.weights), embedded in it.
#pragma once

#include <cstdint>

#include "estimate/weights.h"

namespace tilecast {

// Every model, read on the first call; thread-safe.
const Weights& shipped_weights();
// Each model read when a forecast asks for it: what one forecast needs is there in milliseconds.
const ModelSource& shipped_models();
// CRC-32 of what the file holds, by which one file is told from another.
std::uint32_t shipped_weights_checksum();

}  // namespace tilecast
