#include "kernel/rmsnorm.h"

#include <algorithm>
#include <numeric>

#include "kernel/norm_backward.h"
#include "kernel/norm_forward.h"
#include "kernel/pytorch.h"
#include "kernel/rowwise.h"

namespace tilecast {
namespace {

// Large batches use small CTAs, so that more of them hide one another's latency.
int most_threads(Count rows) { return rows < 256 ? 1024 : 256; }

// rms_norm reads 16 bytes per thread if the row allows; fused_add_rms_norm still sizes its CTA by elements.
int threads_of(const RmsNorm& shape, Bytes element) {
  const Count vector = shape.residual ? 1 : std::gcd(static_cast<Count>(16 / in_bytes(element)), shape.cols);
  return static_cast<int>(std::min<Count>(shape.cols / vector, most_threads(shape.rows)));
}

}  // namespace

Status RmsNorm::check() const {
  if (residual && backward)
    return field_error("residual", "has no gradient kernel of its own",
                       "leave out residual: its gradient is an addition");
  return require_rows(rows, cols);
}

Result<Plan> plan(const RmsNorm& shape, const Format& format, const Gpu& gpu, const Context& context) {
  if (shape.backward) {
    Plan plan{norm_backward_launches({shape.rows, shape.cols, false}, format, gpu, context.torch)};
    for (Launch& launch : plan.launches) launch.plan_known = false;  // libraries differ; LayerNorm's form is a stand-in
    return plan;
  }
  if (context.engine == Launcher::pytorch && !shape.residual && is_vectorised(shape.cols, format))
    return Plan{{vectorised_norm({shape.rows, shape.cols, false}, format, gpu)}};
  const double rows = static_cast<double>(shape.rows), cols = static_cast<double>(shape.cols);
  const Bytes element = size_of(format.output);
  const Bytes row = element * cols;
  const double tensors = shape.residual ? 2 : 1;  // read, and written

  RowKernel kernel;
  kernel.name = shape.residual ? "fused_add_rmsnorm" : "rmsnorm";
  kernel.rows = shape.rows;
  const int threads = threads_of(shape, element);
  kernel.cta = {threads, 32, bytes(4.0 * 32)};
  kernel.read = row * tensors;
  kernel.reread = row;  // the second pass: of the input, or of the residual sum just written
  kernel.parameters = row;
  kernel.written = row * tensors;
  // The sum, its square's sum; then times rstd and weight.
  kernel.slots = cols * (tensors - 1 + 1 + 2) + reduction_slots(threads, gpu, 1);
  kernel.xu = 1;
  const Count vector = std::gcd(static_cast<Count>(16 / in_bytes(element)), shape.cols);
  kernel.steps = 2 * static_cast<double>(ceil_div(shape.cols, Count{threads} * vector));
  kernel.vector_type = vector_type_of(format);
  Launch launch = row_launch(kernel, gpu);
  launch.required.vector = ops(2 * least_slots(tensors, element) * rows * cols);
  launch.operands.add({"input", row * rows, Operand::Role::activation, true, false});
  if (shape.residual) launch.operands.add({"residual", row * rows, Operand::Role::activation, true, true});
  launch.operands.add({"weight", row, Operand::Role::weight, true, false});
  launch.operands.add({"output", row * rows, Operand::Role::activation, false, true});
  return Plan{{launch}};
}

}  // namespace tilecast
