// The learned forecast of a card that neither the training nor the constants of the physics have seen.
#pragma once

#include <span>
#include <vector>

#include "constants/tuned.h"
#include "lab/train/train.h"
#include "measure/measurement.h"

namespace tilecast {

// |forecast - measured| / measured of the rows judged, in their order, by models trained on the others with the physics
// under these constants; negative where there is no plan. Rows must be of built-in GPUs, without known traps.
std::vector<double> learned_errors_under(std::span<const Measurement* const> judged,
                                         std::span<const Measurement* const> others, const TunedConstants& constants,
                                         const TrainOptions& options);

}  // namespace tilecast
