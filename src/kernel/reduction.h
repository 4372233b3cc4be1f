// The sum (or maximum, mean ...) of every row, as PyTorch's Reduce.cuh launches it.
#pragma once

#include "kernel/context.h"
#include "kernel/fields.h"
#include "kernel/plan.h"
#include "tilecast/result.h"

namespace tilecast {

struct Reduction {
  static constexpr FamilyInfo kFamily{"reduction", "sum of every row", "--rows 4096 --cols 16384"};
  Count rows = 0, cols = 0;

  template <class Self, class Visit>
  static void fields(Self& s, Visit&& visit) {
    visit("rows", s.rows, "results", Need::required);
    visit("cols", s.cols, "elements reduced to one result", Need::required);
  }
  Status check() const;
};

Result<Plan> plan(const Reduction& shape, const Format& format, const Gpu& gpu, const Context& context);

}  // namespace tilecast
