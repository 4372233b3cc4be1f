// The energy a step draws, as far as the GPU is concerned.
#pragma once

#include <optional>

#include "engine/step.h"
#include "gpu/gpu.h"

namespace tilecast {

// Joules of a step among others like it: its kernels at the clock that the power limit allows, plus the card's idle
// draw over the same time. Empty if no card of the vendor was metered, or the kernels' work is unknown.
std::optional<double> joules_of_step(const Program& program, const ProgramForecast& step, const Gpu& gpu);

}  // namespace tilecast
