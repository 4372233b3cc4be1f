#include "kernel/torch_walk.h"

#include "constants/streaming.h"

namespace tilecast {

using namespace constants;

static_assert(KernelSource::torch_transposed - KernelSource::torch == static_cast<int>(TorchWalk::transposed));

KernelSource source_of(TorchWalk walk) {
  return static_cast<KernelSource::Known>(KernelSource::torch + static_cast<int>(walk));
}

TorchWalk torch_walk(const Context& context) {
  const KernelSource::Known known = context.kernel_source.known();
  if (known < KernelSource::torch || known > KernelSource::torch_transposed) return TorchWalk::vectorized;
  return static_cast<TorchWalk>(known - KernelSource::torch);
}

WalkCost walk_cost(TorchWalk walk, int operands, int elements_per_thread) {
  const double strided = kStridedThreadSlots / elements_per_thread + kStridedOperandSlots * operands;
  switch (walk) {
    case TorchWalk::vectorized:
    case TorchWalk::narrow: return {};
    case TorchWalk::strided:
    case TorchWalk::transposed: return {strided, elements_per_thread > 2 ? kStridedSteps : kStridedPairSteps};
    case TorchWalk::widen: return {kWidenSlots, kWidenSteps};
    // The conversion comes on top of the offsets and waits for them.
    case TorchWalk::strided_widen: return {kWidenSlots + kStridedOperandSlots * operands, kWidenSteps + 1};
    case TorchWalk::cat: return {kCatSlots, kCatSteps};
    case TorchWalk::index: return {kIndexSlots, kIndexSteps};
  }
  return {};
}

}  // namespace tilecast
