// The constants of tune/triton_cost.h, fitted to measured configurations.
#pragma once

#include <span>

#include "lab/evaluate/tune_judge.h"

namespace tilecast {

// What a fit minimises, averaged over shapes: the spread of log(forecast / measured) among good configurations, and
// how much slower than the best our picks are.
Result<double> tune_loss(std::span<const TunedShape> shapes, const Gpu& gpu, const TritonConstants& constants);

// Random steps from `start`, each kept when it lowers the loss. The same seed gives the same constants.
Result<TritonConstants> fit_constants(std::span<const TunedShape> shapes, const Gpu& gpu, const TritonConstants& start,
                                      int steps, unsigned seed);

std::string text_of(const TritonConstants& constants);

}  // namespace tilecast
