#include "kernel/copy.h"

#include <algorithm>

#include "constants/streaming.h"
#include "kernel/checks.h"
#include "kernel/elementwise.h"
#include "kernel/pytorch.h"

namespace tilecast {

using namespace constants;

namespace {

// x.t().contiguous(): launch_legacy_kernel<128, 4> (2 for four-byte elements and larger) over the result in order, each
// element fetched from its strided place (CUDALoops.cuh, gpu_kernel_impl_nocast).
constexpr int kThreads = 128;
Count elements_per_cta(Bytes element) { return kThreads * (element >= bytes(4) ? 2 : 4); }

// Bytes asked of L2 for one element of a transpose. A CTA writes a run of the result, which is part of one column of
// the source, or several whole columns if there are few rows; only then do elements share a sector.
Bytes fetched_per_element(const Copy& shape, Bytes element) {
  const double columns = static_cast<double>(elements_per_cta(element)) / static_cast<double>(shape.rows);
  const double sharing = std::clamp(columns, 1.0, static_cast<double>(shape.cols));
  return std::max(element, bytes(kSector / sharing));
}

std::vector<Launch> transpose_launches(const Copy& shape, Bytes element) {
  const Count per_cta = elements_per_cta(element);
  Demand one;
  one.l2_load = fetched_per_element(shape, element);
  one.l2_store = element;
  std::vector<Launch> launches;
  for (const Count piece : indexable_pieces(shape.count(), element)) {
    const Bytes size = element * static_cast<double>(piece);
    Launch launch;
    launch.name = "transpose";
    launch.character = Character::streaming;
    launch.cta = {kThreads, 32, bytes(0)};
    launch.ctas = ceil_div(piece, per_cta);
    launch.tasks = tasks_with_tail(piece, per_cta, one, 1);
    launch.operands.add({"input", size, Operand::Role::activation, true, false});
    launch.operands.add({"output", size, Operand::Role::activation, false, true});
    launches.push_back(std::move(launch));
  }
  return launches;
}

}  // namespace

Status Copy::check() const {
  if (transpose && rows == 0 && cols == 0)
    return field_error("transpose", "needs rows and cols", "give them instead of elements");
  if (auto sized = require_one_size(elements, rows, cols); !sized) return sized;
  return require_reasonable(2.0 * static_cast<double>(count()));
}

Result<Plan> plan(const Copy& shape, const Format& format, const Gpu& gpu, const Context& context) {
  const Bytes element = size_of(format.output);
  // One row or one column has the same order either way.
  if (shape.transpose && shape.rows > 1 && shape.cols > 1) return Plan{transpose_launches(shape, element)};
  Pointwise kernel;
  kernel.name = "copy";
  kernel.elements = shape.count();
  kernel.element = element;
  kernel.walk = torch_walk(context);
  Plan plan{pointwise_launches(kernel, gpu, context.torch)};
  // The driver's own copy kernel (cudaMemcpyAsync), of no published grid; the pointwise one stands in for it. So does
  // the four-element walk for that of torch.cat.
  for (Launch& launch : plan.launches) launch.plan_known = false;
  return plan;
}

}  // namespace tilecast
