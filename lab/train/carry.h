// Which share of the learned correction serves cards that were left out best.
#pragma once

#include <span>

#include "estimate/carry.h"
#include "lab/train/left_out.h"

namespace tilecast {

using Carries = std::map<std::string, Carry, std::less<>>;  // by vendor

// The shares that leave least over, every architecture counting the same; of shares that do about equally well the
// smaller one for cards of other chips, the larger one for cards of the same. Where no card could be left out there
// is no telling, so all of it is carried.
Carries fit_carry(std::span<const LeftOut> judged);

// A card's rows less what would have been forecast for them.
BoostData leftovers(const LeftOut& judged, const Carries& carries);

}  // namespace tilecast
