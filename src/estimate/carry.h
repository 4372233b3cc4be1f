// How much of what was learned holds on an unmeasured card.
//
// A card's residuals are partly typical of its kind and partly its own. Training finds out which: it leaves out every
// card, and every architecture, in turn, and asks what share of the correction would have served the left-out card best
// (lab/train/carry.h). The rest of an unseen card's forecast comes from the physics. One share is found for cards as
// similar as two memory sizes of one chip, and one for cards of other chips; in between, similarity interpolates.
#pragma once

#include "gpu/gpu.h"

namespace tilecast {

// Shares of the logarithm of the correction.
struct Carry {
  float near = 1, far = 1;
  // `likeness`: between the card and the most similar seen one.
  float share(double likeness) const { return far + (near - far) * static_cast<float>(likeness); }
};

// Between 0, chips with nothing but their architecture in common, and 1, the same chip.
double likeness(const Gpu& a, const Gpu& b);

}  // namespace tilecast
