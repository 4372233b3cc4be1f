// Parts that JSON about steps shares (docs/json.md).
#pragma once

#include "answers/step_rows.h"
#include "support/json_value.h"
#include "tilecast/layout.h"
#include "tilecast/run.h"

namespace tilecast {

Json memory_json(const MemoryNeed& need);
Json layout_json(const RankLayout& layout);
// Every kernel call of a step; over many GPUs, of a rank as if it had all layers.
Json kernels_json(const StepForecast& step);
// The memory of each pipeline stage's ranks.
Json spread_memory_json(const Row<MemoryForecast>& row);

}  // namespace tilecast
