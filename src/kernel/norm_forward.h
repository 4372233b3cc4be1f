// PyTorch's kernel for LayerNorm and, since 2.8, RMSNorm (layer_norm_kernel.cu, vectorized_layer_norm_kernel): one CTA
// of four warps per row; statistics first, then the row again.
#pragma once

#include "gpu/gpu.h"
#include "kernel/format.h"
#include "kernel/plan.h"

namespace tilecast {

struct NormForward {
  Count rows = 0, cols = 0;
  bool centred = true;  // LayerNorm: mean and deviation, scale and shift; otherwise RMSNorm
};

// Rows that four-element accesses divide and whose length Welford's float counter holds exactly; not fp64.
bool is_vectorised(Count cols, const Format& format);

Launch vectorised_norm(const NormForward& norm, const Format& format, const Gpu& gpu);

}  // namespace tilecast
