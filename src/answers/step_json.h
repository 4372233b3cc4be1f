// Parts that JSON about steps shares (docs/json.md).
#pragma once

#include "support/json_value.h"
#include "tilecast/layout.h"
#include "tilecast/run.h"

namespace tilecast {

Json memory_json(const MemoryNeed& need);
Json layout_json(const RankLayout& layout);

}  // namespace tilecast
