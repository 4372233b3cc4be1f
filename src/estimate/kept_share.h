// What an unseen card keeps of a correction that was learned on others.
#pragma once

#include <algorithm>

#include "constants/carry.h"

namespace tilecast {

// `learned`: log of the learned over the physics' time. What is not carried is given back, within limits.
inline float kept(float learned, float share) {
  const auto most = static_cast<float>(constants::kMostGivenBack.value);
  return learned - std::clamp((1 - share) * learned, -most, most);
}

}  // namespace tilecast
