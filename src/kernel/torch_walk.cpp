#include "kernel/torch_walk.h"

#include "constants/streaming.h"

namespace tilecast {

using namespace constants;

TorchWalk torch_walk(const Context& context) {
  for (std::size_t i = 0; i < kTorchWalkSources.size(); ++i)
    if (context.kernel_source == kTorchWalkSources[i]) return static_cast<TorchWalk>(i);
  return TorchWalk::vectorized;
}

WalkCost walk_cost(TorchWalk walk, int operands, int elements_per_thread) {
  const double strided = kStridedThreadSlots / elements_per_thread + kStridedOperandSlots * operands;
  switch (walk) {
    case TorchWalk::vectorized:
    case TorchWalk::narrow: return {};
    case TorchWalk::strided: return {strided, elements_per_thread > 2 ? kStridedSteps : kStridedPairSteps};
    case TorchWalk::widen: return {kWidenSlots, kWidenSteps};
    // The conversion comes on top of the offsets, and waits after them.
    case TorchWalk::strided_widen: return {kWidenSlots + kStridedOperandSlots * operands, kWidenSteps + 1};
    case TorchWalk::cat: return {kCatSlots, kCatSteps};
    case TorchWalk::index: return {kIndexSlots, kIndexSteps};
  }
  return {};
}

}  // namespace tilecast
