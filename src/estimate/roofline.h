// The textbook roofline, as the yardstick: useful operations over the vendor's peak, unique bytes over DRAM bandwidth.
// It knows no cache, no schedule and no launch, so warm data can beat it.
#pragma once

#include "estimate/estimate.h"

namespace tilecast {

ResourceTimes roofline_times(const Launch& launch, const Gpu& gpu);

}  // namespace tilecast
