// A bound on a step that holds however tokens choose their experts.
#pragma once

#include "engine/step.h"

namespace tilecast {

// If all tokens visit the same experts, the fewest weights are read: no routing is faster. Measured visits have their
// own bound. The program is a GPU's, of one or of many that share the experts.
void bound_any_routing(ProgramForecast& step, const Program& program, const Gpu& gpu);

}  // namespace tilecast
