// LayerNorm over the last dimension and its gradient, as PyTorch launches them (layer_norm_kernel.cu).
#pragma once

#include "kernel/context.h"
#include "kernel/fields.h"
#include "kernel/plan.h"
#include "tilecast/result.h"

namespace tilecast {

struct LayerNorm {
  static constexpr FamilyInfo kFamily{"layernorm", "layer normalisation of every row, with scale and shift",
                                      "--rows 8192 --cols 4096"};
  Count rows = 0, cols = 0;
  bool backward = false;

  template <class Self, class Visit>
  static void fields(Self& s, Visit&& visit) {
    visit("rows", s.rows, "rows (tokens)", Need::required);
    visit("cols", s.cols, "elements of a row (hidden size)", Need::required);
    visit("backward", s.backward, "the gradient kernels instead");
  }
  Status check() const;
};

Result<Plan> plan(const LayerNorm& shape, const Format& format, const Gpu& gpu, const Context& context);

}  // namespace tilecast
