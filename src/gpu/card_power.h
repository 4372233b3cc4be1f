// How a card's silicon differs from its kind's: two factors of the power law (estimate/power.h), which are measured on
// the card (`tilecast calibrate`) and stored in its description, "power" in the section "calibration".
#pragma once

#include <memory>

#include "constants/tuned.h"

namespace tilecast {

// Logarithms.
struct CardPower {
  double energy = 0;  // of operations: what a run that lasts tells
  double burst = 0;   // of what the card may draw for milliseconds
};

// As a card carries them.
std::shared_ptr<const TunedConstants> constants_of(const CardPower& power);

}  // namespace tilecast
