// What each rank of a served model keeps of its card, as the engine divides it (engine/serving_memory.h).
#pragma once

#include <span>

#include "parallel/forecast.h"

namespace tilecast {

// The need of each pipeline rank in the step that an engine profiles itself with. The layout has passed check().
Result<std::vector<MemoryNeed>> profile_needs(const ModelSpec& spec, const RankLayout& layout,
                                              const EngineOptions& engine, const Workload& profile, const Gpu& gpu);

// Puts the engine's budget in place of what the step alone would need, in every stage; keys and values stay the step's.
Status budget_stages(const ModelSpec& spec, const RankLayout& layout, const EngineOptions& engine, const Gpu& gpu,
                     std::span<StageForecast> stages);

// What PyTorch's allocator holds of the card where a run needs so much: blocks that fit nothing are left between tensors
// of different sizes. Under pressure it gives them back, so that what fits is told by the need itself.
Bytes reserved_memory(const MemoryNeed& need);

}  // namespace tilecast
