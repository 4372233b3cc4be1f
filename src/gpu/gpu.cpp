#include "gpu/gpu.h"

namespace tilecast {

TensorGeneration Gpu::tensor_generation() const {
  switch (architecture) {
    case Architecture::pascal: return TensorGeneration::none;
    case Architecture::volta:
    case Architecture::turing:
    case Architecture::ampere:
    case Architecture::ada: return TensorGeneration::mma;
    case Architecture::hopper: return TensorGeneration::wgmma;
    // sm_120 (GeForce and RTX PRO Blackwell) kept mma.sync; only sm_100 and sm_103 have tensor memory.
    case Architecture::blackwell:
      return compute_capability.starts_with("12") ? TensorGeneration::mma : TensorGeneration::tcgen05;
    case Architecture::cdna1:
    case Architecture::cdna2:
    case Architecture::cdna3:
    case Architecture::cdna4: return TensorGeneration::mfma;
    case Architecture::xe2: return TensorGeneration::xmx;
  }
  return TensorGeneration::none;
}

bool Gpu::inherits() const {
  return parent && parent->vendor == vendor && parent->architecture == architecture &&
         parent->tensor_generation() == tensor_generation();
}

}  // namespace tilecast
