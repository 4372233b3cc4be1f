// Copies inside one GPU's memory: of a contiguous tensor, or a transpose into a contiguous one.
#pragma once

#include "kernel/context.h"
#include "kernel/fields.h"
#include "kernel/plan.h"
#include "tilecast/result.h"

namespace tilecast {

struct Copy {
  static constexpr FamilyInfo kFamily{"copy", "copy of a tensor, or its transpose",
                                      "--rows 8192 --cols 8192 --transpose"};
  Count elements = 0;
  Count rows = 0, cols = 0;  // instead of elements
  bool transpose = false;

  template <class Self, class Visit>
  static void fields(Self& s, Visit&& visit) {
    visit("elements", s.elements, "elements of the tensor (or give rows and cols)");
    visit("rows", s.rows, "rows of the source, with cols instead of elements");
    visit("cols", s.cols, "columns of the source");
    visit("transpose", s.transpose, "write the transpose (needs rows and cols)");
  }
  Status check() const;
  Count count() const { return elements > 0 ? elements : rows * cols; }
};

Result<Plan> plan(const Copy& shape, const Format& format, const Gpu& gpu, const Context& context);

}  // namespace tilecast
