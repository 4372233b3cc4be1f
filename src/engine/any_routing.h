// A bound of a step that holds however tokens choose their experts.
#pragma once

#include "engine/step.h"

namespace tilecast {

// Tokens that all visit the same experts read fewest weights: no routing is faster than that. Measured visits have a
// bound of their own. The program is a GPU's, of one or of many that share the experts.
void bound_any_routing(ProgramForecast& step, const Program& program, const Gpu& gpu);

}  // namespace tilecast
