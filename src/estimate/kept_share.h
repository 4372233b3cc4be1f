// How much an unseen card keeps of a correction learned on others.
#pragma once

#include <algorithm>

#include "constants/carry.h"

namespace tilecast {

// `learned`: log of the learned time over the physics' time. The part that is not carried over is removed, within
// limits.
inline float kept(float learned, float share) {
  const auto most = static_cast<float>(constants::kMostGivenBack.value);
  return learned - std::clamp((1 - share) * learned, -most, most);
}

}  // namespace tilecast
