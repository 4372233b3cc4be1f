#include "kernel/layernorm.h"

#include "kernel/norm_backward.h"
#include "kernel/pytorch.h"
#include "kernel/rowwise.h"

namespace tilecast {
namespace {

// Welford's update with a reciprocal of the count (cuWelfordOnlineSum): difference, count, mean, second difference,
// sum.
constexpr ElementCost kWelford{5 + kReciprocal.slots, kReciprocal.xu};
// WelfordOps of the fallback divides in full.
constexpr ElementCost kWelfordDivided{5 + kDivision.slots, kDivision.xu};
constexpr double kWelfordCombine = 9 + kReciprocal.slots;
// (x - mean) * rstd * gamma + beta.
constexpr double kNormaliseSlots = 3;
constexpr double kStatistics = 2 * 4.0;  // bytes of mean and rstd of a row, in fp32
constexpr Count kVector = 4;             // vec_size, whatever the type

void add_parameters(Launch& launch, Bytes row) {
  launch.operands.add({"gamma", row, Operand::Role::weight, true, false});
  launch.operands.add({"beta", row, Operand::Role::weight, true, false});
}

// vectorized_layer_norm_kernel: a CTA of four warps a row; statistics, then the row again.
Launch vectorised(const LayerNorm& shape, const Format& format, const Gpu& gpu) {
  const double rows = static_cast<double>(shape.rows), cols = static_cast<double>(shape.cols);
  const Bytes row = size_of(format.output) * cols;
  RowKernel kernel;
  kernel.name = "layernorm";
  kernel.rows = shape.rows;
  const int threads = 4 * warp_size(gpu);
  kernel.cta = {threads, 32, bytes(24)};
  kernel.read = row;
  kernel.reread = row;
  kernel.parameters = row * 2;
  kernel.written = row + bytes(kStatistics);
  kernel.slots = cols * (kWelford.slots + kNormaliseSlots) + reduction_slots(threads, gpu, kWelfordCombine);
  kernel.xu = cols * kWelford.xu;
  kernel.steps = 2 * static_cast<double>(ceil_div(shape.cols, threads * kVector));
  Launch launch = row_launch(kernel, gpu);
  launch.required.vector = ops(2 * least_slots(1, size_of(format.output)) * rows * cols);
  launch.operands.add(walked_operand("input", row * rows, Operand::Role::activation, kernel, gpu));
  add_parameters(launch, row);
  launch.operands.add({"output", kernel.written * rows, Operand::Role::activation, false, true});
  return launch;
}

// RowwiseMomentsCUDAKernel, then LayerNormForwardCUDAKernel: rows that four-element accesses do not divide, and fp64.
std::vector<Launch> in_two_kernels(const LayerNorm& shape, const Format& format, const Gpu& gpu) {
  constexpr int kMomentThreads = 512, kForwardThreads = 256;  // kCUDABlockReduceNumThreads, kCUDANumThreads
  const double rows = static_cast<double>(shape.rows), cols = static_cast<double>(shape.cols);
  const Bytes row = size_of(format.output) * cols;
  RowKernel moments;
  moments.name = "layernorm_moments";
  moments.rows = shape.rows;
  moments.cta = {kMomentThreads, 32, bytes(24.0 * warp_size(gpu))};
  moments.read = row;
  moments.written = bytes(kStatistics);
  moments.slots = cols * kWelfordDivided.slots + reduction_slots(kMomentThreads, gpu, kWelfordCombine);
  moments.xu = cols * kWelfordDivided.xu;
  moments.steps = static_cast<double>(ceil_div(shape.cols, kMomentThreads));
  moments.vector_type = vector_type_of(format);
  Launch first = row_launch(moments, gpu);
  first.operands.add({"input", row * rows, Operand::Role::activation, true, false});
  first.operands.add({"statistics", bytes(kStatistics * rows), Operand::Role::workspace, false, true});

  RowKernel forward;
  forward.name = "layernorm";
  forward.rows = shape.rows;
  forward.cta = {kForwardThreads, 32, bytes(0)};
  forward.read = row + bytes(kStatistics);
  forward.parameters = row * 2;
  forward.written = row;
  forward.slots = cols * kNormaliseSlots;
  forward.steps = static_cast<double>(ceil_div(shape.cols, kForwardThreads));
  forward.vector_type = moments.vector_type;
  Launch second = row_launch(forward, gpu);
  second.required.vector = ops(2 * least_slots(1, size_of(format.output)) * rows * cols);
  second.operands.add({"input", row * rows, Operand::Role::activation, true, false});
  second.operands.add({"statistics", bytes(kStatistics * rows), Operand::Role::workspace, true, false});
  add_parameters(second, row);
  second.operands.add({"output", row * rows, Operand::Role::activation, false, true});
  return {first, second};
}

// The float counter of Welford's update is exact up to here.
constexpr Count kMostVectorised = Count{1} << 24;

}  // namespace

Status LayerNorm::check() const { return require_rows(rows, cols); }

Result<Plan> plan(const LayerNorm& shape, const Format& format, const Gpu& gpu, const Context&) {
  if (shape.backward) return Plan{norm_backward_launches({shape.rows, shape.cols, true}, format, gpu)};
  const bool vectors = shape.cols % kVector == 0 && shape.cols <= kMostVectorised && format.output != DType::fp64;
  if (vectors) return Plan{{vectorised(shape, format, gpu)}};
  return Plan{in_two_kernels(shape, format, gpu)};
}

}  // namespace tilecast
