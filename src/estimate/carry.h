// How much of what was learned holds on a card that nobody measured.
//
// Residuals of one card are partly its kind's and partly its own. Training finds out which: it leaves every card, and
// every architecture, out in turn, and asks what share of the correction would have served the card left out best
// (lab/train/carry.h). The rest of an unseen card's forecast is the physics'. A share is found for cards as like each
// other as two memory sizes of one chip, and one for cards of other chips; in between, likeness decides.
#pragma once

#include "gpu/gpu.h"

namespace tilecast {

// Shares of the logarithm of the correction.
struct Carry {
  float near = 1, far = 1;
  // `likeness`: of the card and the most alike one that was seen.
  float share(double likeness) const { return far + (near - far) * static_cast<float>(likeness); }
};

// Between 0, chips with nothing but their architecture in common, and 1, the same chip.
double likeness(const Gpu& a, const Gpu& b);

}  // namespace tilecast
