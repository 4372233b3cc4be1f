// Softmax over the last dimension and its gradient, as PyTorch launches them (SoftMax.cu, PersistentSoftmax.cuh).
#pragma once

#include "kernel/context.h"
#include "kernel/fields.h"
#include "kernel/plan.h"
#include "tilecast/result.h"

namespace tilecast {

struct Softmax {
  static constexpr FamilyInfo kFamily{"softmax", "softmax over the columns of every row", "--rows 16384 --cols 4096"};
  Count rows = 0, cols = 0;
  bool backward = false;

  template <class Self, class Visit>
  static void fields(Self& s, Visit&& visit) {
    visit("rows", s.rows, "independent rows", Need::required);
    visit("cols", s.cols, "elements of a row", Need::required);
    visit("backward", s.backward, "the gradient kernel instead");
  }
  Status check() const;
};

Result<Plan> plan(const Softmax& shape, const Format& format, const Gpu& gpu, const Context& context);

}  // namespace tilecast
