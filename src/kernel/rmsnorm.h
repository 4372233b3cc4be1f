// RMSNorm, alone or with the residual addition before it, as vLLM launches them (csrc/layernorm_kernels.cu;
// FlashInfer also uses one CTA per token), and its gradient.
#pragma once

#include "kernel/context.h"
#include "kernel/fields.h"
#include "kernel/plan.h"
#include "tilecast/result.h"

namespace tilecast {

struct RmsNorm {
  static constexpr FamilyInfo kFamily{"rmsnorm", "root-mean-square normalisation of every row",
                                      "--rows 8192 --cols 4096 --residual"};
  Count rows = 0, cols = 0;
  bool residual = false;
  bool backward = false;

  template <class Self, class Visit>
  static void fields(Self& s, Visit&& visit) {
    visit("rows", s.rows, "rows (tokens)", Need::required);
    visit("cols", s.cols, "elements of a row (hidden size)", Need::required);
    visit("residual", s.residual, "add the row to a residual stream first, in place");
    visit("backward", s.backward, "the gradient kernels instead");
  }
  Status check() const;
};

Result<Plan> plan(const RmsNorm& shape, const Format& format, const Gpu& gpu, const Context& context);

}  // namespace tilecast
