// Views of tunings; each takes values and returns text.
#pragma once

#include <string>
#include <vector>

#include "tilecast/tune.h"

namespace tilecast {

// Of one number of tokens all candidates, of several the picks.
std::string moe_tuning_text(const MoeTuning& tuning, bool measured);
std::string gemm_tuning_text(const GemmTuning& tuning, bool measured);

}  // namespace tilecast
