// Pointwise kernels of any arity, as PyTorch launches them on contiguous tensors.
#pragma once

#include <array>

#include "kernel/context.h"
#include "kernel/fields.h"
#include "kernel/plan.h"
#include "tilecast/result.h"

namespace tilecast {

// What one element costs beyond its loads and stores.
enum class PointwiseOp : std::uint8_t { add, mul, div, pow, relu, gelu, silu, tanh, exp, copy, square };
inline constexpr std::array<std::string_view, 11> kPointwiseOpNames = {"add",  "mul",  "div", "pow",  "relu",  "gelu",
                                                                       "silu", "tanh", "exp", "copy", "square"};
constexpr const auto& enum_names(PointwiseOp) { return kPointwiseOpNames; }

struct Elementwise {
  static constexpr FamilyInfo kFamily{"elementwise", "pointwise kernel over one or more tensors",
                                      "--elements 16777216 --inputs 2 --op add"};
  Count elements = 0;
  Count rows = 0, cols = 0;  // instead of elements
  Count inputs = 1;
  PointwiseOp op = PointwiseOp::add;
  bool backward = false;

  template <class Self, class Visit>
  static void fields(Self& s, Visit&& visit) {
    visit("elements", s.elements, "elements of the result (or give rows and cols)");
    visit("rows", s.rows, "rows of the result, with cols instead of elements");
    visit("cols", s.cols, "columns of the result");
    visit("inputs", s.inputs, "tensors read per element (default 1)");
    visit("op", s.op, "what is computed per element (default add)");
    visit("backward", s.backward, "the gradient kernel instead");
  }
  Status check() const;
  Count count() const { return elements > 0 ? elements : rows * cols; }
};

// Exactly one of `elements` and `rows` x `cols` must be given; shared with copy.
Status require_one_size(Count elements, Count rows, Count cols);

Result<Plan> plan(const Elementwise& shape, const Format& format, const Gpu& gpu, const Context& context);

}  // namespace tilecast
