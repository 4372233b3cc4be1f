#include "kernel/gated_activation.h"

#include <algorithm>

#include "kernel/pytorch.h"
#include "kernel/rowwise.h"

namespace tilecast {
namespace {

// silu is x / (1 + exp(-x)), gelu x/2 (1 + erf(x/sqrt 2)); a product with the other half follows.
ElementCost forward_cost(Gate act) {
  if (act == Gate::silu) return {kExp.slots + 1 + kDivision.slots + 1, kExp.xu + kDivision.xu};
  return {kErf.slots + 4 + 1, kErf.xu};
}

// The activation and its derivative share the sigmoid or the erf; three products form the two gradients.
ElementCost backward_cost(Gate act) {
  if (act == Gate::silu) return {kSigmoid.slots + 7, kSigmoid.xu};
  return {kErf.slots + kExp.slots + 9, kErf.xu + kExp.xu};
}

// FlashInfer's act_and_mul_kernel (and vLLM's, since it vectorises): 16 bytes per thread and half, if the width allows.
int threads_of(const GatedActivation& shape, Bytes element) {
  const Count vector = static_cast<Count>(16 / in_bytes(element));
  const Count wanted = shape.cols % vector == 0 ? shape.cols / vector : shape.cols;
  return static_cast<int>(std::min<Count>(wanted, 1024));
}

}  // namespace

Status GatedActivation::check() const { return require_rows(rows, cols); }

Result<Plan> plan(const GatedActivation& shape, const Format& format, const Gpu& gpu, const Context&) {
  const double rows = static_cast<double>(shape.rows), cols = static_cast<double>(shape.cols);
  const Bytes element = size_of(format.output);
  const Bytes row = element * cols;
  const ElementCost cost = shape.backward ? backward_cost(shape.act) : forward_cost(shape.act);

  RowKernel kernel;
  kernel.name = shape.backward ? "gated_activation_backward" : "gated_activation";
  kernel.rows = shape.rows;
  const int threads = threads_of(shape, element);
  kernel.cta = {threads, 32, bytes(0)};
  kernel.read = row * (shape.backward ? 3 : 2);
  kernel.written = row * (shape.backward ? 2 : 1);
  kernel.slots = cols * cost.slots;
  kernel.xu = cols * cost.xu;
  const Count vector = static_cast<Count>(16 / in_bytes(element));
  kernel.steps = static_cast<double>(ceil_div(shape.cols, threads * (shape.cols % vector == 0 ? vector : 1)));
  kernel.vector_type = vector_type_of(format);
  Launch launch = row_launch(kernel, gpu);
  // The products with the other half (and with the gradient); cheaper activations exist.
  launch.required.vector = ops(2 * least_slots(shape.backward ? 2 : 1, element) * rows * cols);
  launch.operands.add({"input", row * (2 * rows), Operand::Role::activation, true, false});
  if (shape.backward) launch.operands.add({"grad_output", row * rows, Operand::Role::activation, true, false});
  launch.operands.add({"output", kernel.written * rows, Operand::Role::activation, false, true});
  launch.plan_known = !shape.backward;  // inference libraries have no gradient; a fused one walks rows the same way
  return Plan{{launch}};
}

}  // namespace tilecast
