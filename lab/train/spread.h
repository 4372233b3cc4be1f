// How sure a forecast is: 80 % intervals, measured on rows that no forest was grown on.
#pragma once

#include "lab/train/carry.h"
#include "lab/train/fit_data.h"

namespace tilecast {

// Where nothing can be measured: one card, or hardly a row.
Spread guessed_spread();

// For seen cards: what their forests leave over on rows kept apart for this.
Spread seen_spread(const FamilyModel& model, const FitRows& apart, const BoostOptions& like);

// For unseen cards: what is left over of rows of cards that trainings did not see. `like` are the options of the
// general forest.
struct UnseenSpreads {
  Spread siblings;   // of kernels that were trained on with a card of the same architecture
  Spread strangers;  // of all others
};
UnseenSpreads unseen_spreads(std::span<const LeftOut> judged, const Carries& carries, const BoostOptions& like);

}  // namespace tilecast
