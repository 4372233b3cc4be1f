// Which cards a serving engine's release runs on.
#pragma once

#include <string>

#include "gpu/gpu.h"
#include "tilecast/result.h"
#include "tilecast/run.h"

namespace tilecast {

// Why this engine does not run there; empty where it does, or where nobody says.
std::string why_not_on(EngineKind engine, const Gpu& gpu);
// ... as an error of the field that names the engine.
Status check_card_of(EngineKind engine, const Gpu& gpu);

}  // namespace tilecast
