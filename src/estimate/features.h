// What the learned part sees of a forecast: dimensionless quantities only.
//
// Shares of the analytic forecast's own terms, the schedule, padding, cache pressure, and the logarithms of the shape's
// dimensions; no raw times, rates or sizes of the GPU, so that a card cannot be recognised by them.
#pragma once

#include <array>

#include "estimate/estimate.h"
#include "kernel/kernel.h"

namespace tilecast {

inline constexpr int kTimeFeatures = 10;   // logarithms of the forecast's own times, taken relative to the base
inline constexpr int kShapeFeatures = 10;  // log2 of the first so many numeric fields of the family
inline constexpr int kFeatureCount = kTimeFeatures + 24 + kShapeFeatures + 2;
using Features = std::array<float, kFeatureCount>;

// Where a feature tells how well the card is known: its number among the seen ones, or one of these.
inline constexpr int kCardFeature = kFeatureCount - 2;
inline constexpr float kNothingSeen = -1, kSiblingSeen = -2;

// What does not depend on what training found: times as log2 of microseconds, the rest as it will be.
Features raw_features(const Kernel& kernel, const Plan& plan, const Estimate& estimate, const Gpu& gpu,
                      const Context& context);

// The features the forests see. `base` is the time the residual is taken of. `source_code` orders kernel sources by how
// far their rows lie from the analytic forecast. `card` and `source_index` are for the forests that may know
// them.
Features relative_features(const Features& raw, Seconds base, float source_code, float card, float source_index);

}  // namespace tilecast
