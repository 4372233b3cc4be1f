// What the learned part sees of a forecast: dimensionless quantities only.
//
// Shares of the analytic forecast's own terms, the schedule, padding, cache pressure, and the logarithms of the shape's
// dimensions; no raw times, rates or sizes of the GPU, so that a card cannot be recognised by them.
#pragma once

#include <array>

#include "estimate/estimate.h"
#include "kernel/kernel.h"

namespace tilecast {

inline constexpr int kShapeFeatures = 10;  // log2 of the first so many numeric fields of the family
inline constexpr int kFeatureCount = 34 + kShapeFeatures;
using Features = std::array<float, kFeatureCount>;

// `base` is the time the residual is taken of: the analytic forecast with the kernel source's own floor.
// `source_code` orders kernel sources by how far their rows lie from the analytic forecast.
Features features_of(const Kernel& kernel, const Plan& plan, const Estimate& estimate, const Gpu& gpu,
                     const Context& context, Seconds base, float source_code);

}  // namespace tilecast
