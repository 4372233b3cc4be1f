#include "kernel/norm_forward.h"

#include "kernel/pytorch.h"
#include "kernel/rowwise.h"

namespace tilecast {
namespace {

constexpr Count kVector = 4;  // vec_size, whatever the type
constexpr Count kMostCounted = Count{1} << 24;

// What one of the two norms does: per element, when threads' statistics are combined, and what a row leaves behind.
struct Arithmetic {
  ElementCost element;
  double combine;
  double statistics;  // bytes, fp32
  double parameters;  // vectors of `cols`
};
// Welford's update with a reciprocal of the count (cuWelfordOnlineSum): difference, count, mean, second difference,
// sum; then (x - mean) * rstd * gamma + beta.
constexpr Arithmetic kCentred{{5 + kReciprocal.slots + 3, kReciprocal.xu}, 9 + kReciprocal.slots, 2 * 4.0, 2};
// A square's sum (cuRMSOnlineSum); then x * rstd * gamma.
constexpr Arithmetic kRootMeanSquare{{1 + 2, 0}, 1, 4.0, 1};

}  // namespace

bool is_vectorised(Count cols, const Format& format) {
  return cols % kVector == 0 && cols <= kMostCounted && format.output != DType::fp64;
}

Launch vectorised_norm(const NormForward& norm, const Format& format, const Gpu& gpu) {
  const Arithmetic& arithmetic = norm.centred ? kCentred : kRootMeanSquare;
  const double rows = static_cast<double>(norm.rows), cols = static_cast<double>(norm.cols);
  const Bytes row = size_of(format.output) * cols;
  RowKernel kernel;
  kernel.name = norm.centred ? "layernorm" : "rmsnorm";
  kernel.rows = norm.rows;
  const int threads = 4 * warp_size(gpu);
  kernel.cta = {threads, 32, bytes(24)};
  kernel.read = row;
  kernel.reread = row;
  kernel.parameters = row * arithmetic.parameters;
  kernel.written = row + bytes(arithmetic.statistics);
  kernel.slots = cols * arithmetic.element.slots + reduction_slots(threads, gpu, arithmetic.combine);
  kernel.xu = cols * arithmetic.element.xu;
  kernel.steps = 2 * static_cast<double>(ceil_div(norm.cols, threads * kVector));
  Launch launch = row_launch(kernel, gpu);
  launch.required.vector = ops(2 * least_slots(1, size_of(format.output)) * rows * cols);
  launch.operands.add(walked_operand("input", row * rows, Operand::Role::activation, kernel, gpu));
  launch.operands.add({"gamma", row, Operand::Role::weight, true, false});
  if (norm.centred) launch.operands.add({"beta", row, Operand::Role::weight, true, false});
  launch.operands.add({"output", kernel.written * rows, Operand::Role::activation, false, true});
  return launch;
}

}  // namespace tilecast
