#include "kernel/elementwise.h"

#include <algorithm>

#include "constants/streaming.h"
#include "kernel/checks.h"
#include "kernel/pytorch.h"

namespace tilecast {

using namespace constants;

namespace {

// Arithmetic of PyTorch's functors in fp32.
constexpr ElementCost kPow{kPowSlots, 0};
constexpr ElementCost kSquare{kSquareSlots, 0};  // or a cube, as norms and activations have it
constexpr ElementCost kTanh{kTanhSlots, 2};      // exp and reciprocal, a polynomial near zero

ElementCost forward_cost(PointwiseOp op) {
  switch (op) {
    case PointwiseOp::add:
    case PointwiseOp::mul:
    case PointwiseOp::relu: return {1, 0};
    case PointwiseOp::copy: return {0, 0};
    case PointwiseOp::div: return kDivision;
    case PointwiseOp::pow: return kPow;
    case PointwiseOp::square: return kSquare;
    case PointwiseOp::exp: return kExp;
    case PointwiseOp::silu: return {kExp.slots + 1 + kDivision.slots, 2};  // x / (1 + exp(-x))
    case PointwiseOp::tanh: return kTanh;
    case PointwiseOp::gelu: return {kErf.slots + 4, kErf.xu};  // x/2 (1 + erf(x/sqrt 2))
  }
  return {1, 0};
}

// Of one input's gradient.
ElementCost backward_cost(PointwiseOp op) {
  switch (op) {
    case PointwiseOp::add:
    case PointwiseOp::copy: return {0, 0};
    case PointwiseOp::mul:
    case PointwiseOp::relu:
    case PointwiseOp::exp: return {1, 0};
    case PointwiseOp::tanh: return {2, 0};  // from the saved result
    case PointwiseOp::div: return kDivision;
    case PointwiseOp::pow: return {kPow.slots + 2, kPow.xu};
    case PointwiseOp::square: return {kSquare.slots + 2, kSquare.xu};
    case PointwiseOp::silu: return {kSigmoid.slots + 4, kSigmoid.xu};
    case PointwiseOp::gelu: return {kErf.slots + kExp.slots + 6, kErf.xu + kExp.xu};  // cdf and pdf
  }
  return {1, 0};
}

// Tensors a gradient reads besides the incoming gradient: the saved inputs or result. A sum's needs none; nor does a
// product or quotient with a constant.
Count saved_tensors(const Elementwise& shape) {
  switch (shape.op) {
    case PointwiseOp::add:
    case PointwiseOp::copy: return 0;
    case PointwiseOp::mul:
    case PointwiseOp::div: return shape.inputs > 1 ? shape.inputs : 0;
    default: return shape.inputs;
  }
}

// Slots that no implementation can avoid: a sum of k tensors is k - 1 additions (one with a constant). A maximum runs
// on the ALU and a copy on none.
double required_slots(const Elementwise& shape) {
  if (shape.op == PointwiseOp::copy || shape.op == PointwiseOp::relu) return 0;
  if (shape.backward) return shape.op == PointwiseOp::add ? 0 : static_cast<double>(shape.inputs);
  return static_cast<double>(std::max<Count>(1, shape.inputs - 1));
}

// Operands for which a strided walk computes offsets. A sum or product of one tensor is one with a broadcast row.
int offsets_of(const Elementwise& shape) {
  const bool joins = shape.op == PointwiseOp::add || shape.op == PointwiseOp::mul || shape.op == PointwiseOp::div;
  return 1 + static_cast<int>(joins ? std::max<Count>(2, shape.inputs) : shape.inputs);
}

}  // namespace

Status require_one_size(Count elements, Count rows, Count cols) {
  if (elements != 0 && (rows != 0 || cols != 0))
    return field_error("elements", "cannot be given together with rows and cols", "give one of the two forms");
  if (elements != 0) return require_positive({{"elements", elements}});
  if (rows == 0 && cols == 0) return field_error("elements", "is missing", "give elements, or rows and cols");
  if (auto positive = require_positive({{"rows", rows}, {"cols", cols}}); !positive) return positive;
  return require_reasonable(static_cast<double>(rows) * static_cast<double>(cols));
}

Status Elementwise::check() const {
  if (auto sized = require_one_size(elements, rows, cols); !sized) return sized;
  if (auto positive = require_positive({{"inputs", inputs}}); !positive) return positive;
  if (inputs > 6) return field_error("inputs", "must be at most 6");
  return require_reasonable(static_cast<double>(count()) * static_cast<double>(inputs + 1));
}

Result<Plan> plan(const Elementwise& shape, const Format& format, const Gpu& gpu, const Context& context) {
  const double inputs = static_cast<double>(shape.inputs);
  Pointwise kernel;
  kernel.name = shape.backward ? "elementwise_backward" : "elementwise";
  kernel.elements = shape.count();
  kernel.element = size_of(format.output);
  kernel.vector_type = vector_type_of(format);
  if (shape.backward) {
    kernel.reads = 1 + saved_tensors(shape);
    kernel.writes = shape.inputs;
    const ElementCost one = backward_cost(shape.op);
    kernel.cost = {one.slots * inputs, one.xu * inputs};
  } else {
    // k tensors are joined by k - 1 operations; a single one by one operation with a constant.
    const double times = std::max(1.0, inputs - 1);
    const ElementCost one = forward_cost(shape.op);
    kernel.reads = shape.inputs;
    kernel.cost = {one.slots * times, one.xu * times};
  }
  kernel.required_slots = least_slots(required_slots(shape), kernel.element);
  kernel.walk = torch_walk(context);
  kernel.operands = offsets_of(shape);
  kernel.row = shape.elements > 0 ? 0 : shape.cols;
  Plan plan{pointwise_launches(kernel, gpu, context.torch)};
  // PyTorch has no kernel that writes several gradients: this is the fused one a compiler makes.
  if (shape.backward && shape.inputs > 1)
    for (Launch& launch : plan.launches) launch.plan_known = false;
  return plan;
}

}  // namespace tilecast
