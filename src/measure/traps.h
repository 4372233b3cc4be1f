// Measured rows that mislead, and why.
#pragma once

#include <string_view>

#include "measure/measurement.h"

namespace tilecast {

// Measurements that are known to be off for a reason of their own, and are judged apart; empty for the rest. The
// reasons are in the data's README: decode rows of TensorRT-LLM 1.0 on A100 beat its DRAM, compute_scale is a
// difference of timings.
std::string_view trap_of(const Measurement& row);

}  // namespace tilecast
