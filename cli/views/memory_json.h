// What a step needs of memory, for programs: one form for one GPU and many (docs/json.md).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "engine/memory.h"

namespace tilecast {

nlohmann::ordered_json memory_json(const MemoryNeed& need);

}  // namespace tilecast
