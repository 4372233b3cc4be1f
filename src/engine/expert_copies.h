// Copies of busy experts on the ranks that share the experts (EPLB).
#pragma once

#include <optional>
#include <vector>

#include "engine/routing.h"
#include "kernel/moe.h"

namespace tilecast {

// Tokens of each expert on the busiest rank if `redundant` copies are placed as in EPLB (vllm/distributed/eplb, after
// deepseek-ai/EPLB): each goes to the expert with the most tokens per copy, whose copies then share them; copies go to
// ranks from the busiest down, each to the rank with the fewest tokens that has a place. `loads`: tokens of all
// experts.
std::vector<Count> busiest_with_copies(std::vector<Count> loads, Count redundant, Count ranks);

// The kernel of the busiest rank with them, whose tokens are then given. `routing`: measured visits, where there are
// any.
Result<Moe> with_expert_copies(Moe shape, Count redundant, const std::optional<Routing>& routing);

}  // namespace tilecast
