// What a step takes of the wall socket, as far as the GPU goes.
#pragma once

#include <optional>

#include "engine/step.h"
#include "gpu/gpu.h"

namespace tilecast {

// Joules of a step among others like it: its kernels at the clock that the power limit leaves, and what the card draws
// idle for as long. Nothing where no card of the vendor was metered, or the kernels' work is not known.
std::optional<double> joules_of_step(const Program& program, const ProgramForecast& step, const Gpu& gpu);

}  // namespace tilecast
