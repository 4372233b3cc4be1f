#include "kernel/layernorm.h"

#include "kernel/norm_backward.h"
#include "kernel/norm_forward.h"
#include "kernel/pytorch.h"
#include "kernel/rowwise.h"

namespace tilecast {
namespace {

// WelfordOps of the fallback divides in full.
constexpr ElementCost kWelfordDivided{5 + kDivision.slots, kDivision.xu};
constexpr double kWelfordCombine = 9 + kReciprocal.slots;
// (x - mean) * rstd * gamma + beta.
constexpr double kNormaliseSlots = 3;
constexpr double kStatistics = 2 * 4.0;  // bytes of mean and rstd of a row, in fp32

void add_parameters(Launch& launch, Bytes row) {
  launch.operands.add({"gamma", row, Operand::Role::weight, true, false});
  launch.operands.add({"beta", row, Operand::Role::weight, true, false});
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

}  // namespace

Status LayerNorm::check() const { return require_rows(rows, cols); }

Result<Plan> plan(const LayerNorm& shape, const Format& format, const Gpu& gpu, const Context& context) {
  if (shape.backward) return Plan{norm_backward_launches({shape.rows, shape.cols, true}, format, gpu, context.torch)};
  if (is_vectorised(shape.cols, format)) return Plan{{vectorised_norm({shape.rows, shape.cols, true}, format, gpu)}};
  return Plan{in_two_kernels(shape, format, gpu)};
}

}  // namespace tilecast
