// Groups of serving runs in two halves: one to choose constants on, the other to judge them.
#pragma once

#include <string>

#include "lab/evidence/endtoend_result.h"
#include "support/random.h"

namespace tilecast {

enum class ServingHalf : std::uint8_t { chosen_on, judged_on };
inline std::string name_of(ServingHalf half) { return half == ServingHalf::chosen_on ? "chosen on" : "judged on"; }

// A group is a model on a card under an engine, whatever table its runs are in and whatever their format: the last bit
// of a hash of the three names says its half. The seed was taken, before any error was looked at, as one that leaves
// each engine about as many rows on either side.
inline constexpr std::uint64_t kHalvesSeed = 5;
inline ServingHalf half_of(const EndToEndLabel& label) {
  const std::uint64_t hash = mixed(kHalvesSeed, label.model + "|" + label.gpu + "|" + label.engine);
  return hash % 2 == 0 ? ServingHalf::chosen_on : ServingHalf::judged_on;
}
inline ServingHalf half_of(const EndToEndResult& result) { return half_of(result.label); }

}  // namespace tilecast
