// The gradient of LayerNorm and RMSNorm: one kernel for the input, one for the parameters (layer_norm_kernel.cu).
#pragma once

#include <vector>

#include "gpu/gpu.h"
#include "kernel/format.h"
#include "kernel/plan.h"
#include "kernel/torch_release.h"

namespace tilecast {

struct NormGradient {
  Count rows = 0, cols = 0;
  bool centred = true;  // LayerNorm: a mean besides the deviation, a beta besides the gamma
};
std::vector<Launch> norm_backward_launches(const NormGradient& norm, const Format& format, const Gpu& gpu,
                                           TorchRelease release);

}  // namespace tilecast
