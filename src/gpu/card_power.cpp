#include "gpu/card_power.h"

#include <cmath>

#include "constants/power.h"

namespace tilecast {

using namespace constants;

std::shared_ptr<const TunedConstants> constants_of(const CardPower& power) {
  auto own = std::make_shared<TunedConstants>();
  const auto scale = [&](const Tunable& constant, double log) { own->set(constant, constant.value * std::exp(log)); };
  for (const Tunable* operation :
       {&kVectorEnergy, &kNarrowTensorEnergy, &kWideTensorEnergy, &kMfmaTensorEnergy, &kTcgenTensorEnergy})
    scale(*operation, power.energy);
  scale(kBurstLimit, power.burst);
  return own;
}

}  // namespace tilecast
