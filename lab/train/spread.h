// How sure a forecast is: 80 % intervals, measured on rows no forest was grown on.
#pragma once

#include "lab/train/fit_data.h"

namespace tilecast {

// Where nothing can be measured: one card, or hardly a row.
Spread guessed_spread();

// For seen cards: what their forests leave over on rows kept apart for this.
Spread seen_spread(const FamilyModel& model, const FitRows& apart, const BoostOptions& like);

// For unseen cards: every card and every architecture in turn is left out of a smaller training like this one, and
// what is left over of its rows is kept. `like` are the options of the general forest.
Spread unseen_spread(std::span<const PlannedRow* const> rows, const BoostOptions& like);

}  // namespace tilecast
