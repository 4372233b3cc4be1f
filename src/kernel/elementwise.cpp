#include "kernel/elementwise.h"

#include "kernel/checks.h"

namespace tilecast {
namespace {

// PyTorch's vectorized_elementwise_kernel: 128 threads, four elements a thread and input (aten/src/ATen/native/cuda,
// thread_work_size() and num_threads(); grids of NeuSight's rows agree).
constexpr int kThreads = 128;
constexpr int kElementsPerThread = 4;
constexpr int kRegisters = 32;

// FMA-pipe slots and special-function results per element, from the arithmetic of the CUDA math library's fp32 forms.
struct OpCost {
  double slots, xu;
};
constexpr OpCost cost_of(PointwiseOp op) {
  switch (op) {
    case PointwiseOp::add:
    case PointwiseOp::mul:
    case PointwiseOp::relu: return {1, 0};
    case PointwiseOp::copy: return {0, 0};
    case PointwiseOp::div: return {8, 1};    // reciprocal and two Newton steps with range handling
    case PointwiseOp::pow: return {30, 2};   // log2 and exp2 in extended precision
    case PointwiseOp::exp: return {3, 1};
    case PointwiseOp::silu: return {5, 2};   // exp and reciprocal
    case PointwiseOp::tanh: return {8, 2};
    case PointwiseOp::gelu: return {16, 1};  // erf as a polynomial times an exp
  }
  return {1, 0};
}

}  // namespace

Status Elementwise::check() const {
  if (auto positive = require_positive({{"elements", elements}, {"inputs", inputs}}); !positive) return positive;
  if (inputs > 6) return field_error("inputs", "must be at most 6");
  return require_reasonable(static_cast<double>(elements) * static_cast<double>(inputs + 1));
}

Result<Plan> plan(const Elementwise& shape, const Format& format, const Gpu&, const Context&) {
  const double n = static_cast<double>(shape.elements);
  const double element = in_bytes(size_of(format.output));
  // A gradient reads the incoming gradient besides the inputs, and writes one gradient per input.
  const Count reads = shape.inputs + (shape.backward ? 1 : 0);
  const Count writes = shape.backward ? shape.inputs : 1;

  Launch launch;
  launch.name = shape.backward ? "elementwise_backward" : "elementwise";
  launch.character = Character::streaming;
  launch.cta = {kThreads, kRegisters, bytes(0)};
  launch.ctas = ceil_div(shape.elements, kThreads * kElementsPerThread);
  const OpCost cost = cost_of(shape.op);
  const double per_task = n / static_cast<double>(launch.ctas);
  Demand each;
  each.vector = ops(2 * cost.slots * per_task);
  each.xu = ops(cost.xu * per_task);
  each.l2_load = bytes(per_task * element * static_cast<double>(reads));
  each.l2_store = bytes(per_task * element * static_cast<double>(writes));
  launch.tasks = {{launch.ctas, each, 1}};
  // Only an add or a multiply is certain: faster forms of the rest exist.
  launch.required.vector = ops(2 * n * (cost.slots > 0 ? 1 : 0));
  for (Count i = 0; i < reads; ++i)
    launch.operands.add({"input", bytes(n * element), Operand::Role::activation, true, false});
  launch.operands.add({"output", bytes(n * element * static_cast<double>(writes)), Operand::Role::activation, false, true});
  return Plan{{launch}};
}

}  // namespace tilecast
