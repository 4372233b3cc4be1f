#include "kernel/softmax.h"

#include <algorithm>
#include <bit>

#include "kernel/pytorch.h"
#include "kernel/rowwise.h"

namespace tilecast {
namespace {

// Rows of at most 1024 elements and 4096 bytes live in the registers of one warp (host_softmax).
bool in_registers(Count cols, Bytes element) {
  return cols <= 1024 && element * static_cast<double>(cols) <= bytes(4096);
}

// A pass over the row each: maximum; exp(x - max) and its sum; the quotient. The last two passes of the block kernels
// compute the exponential twice.
constexpr double kMaxSlots = 1;
constexpr double kExpSumSlots = 1 + kExp.slots + 1;
// Gradient from g = grad * y: the sum of g, then g - y * sum.
constexpr double kBackwardSlots = 2;

// softmax_warp_forward/backward: 128 threads; a warp (or a fraction of one, for short rows) takes one row, or two when
// the row padded to a power of two has at most 128 elements (PersistentSoftmax.cuh, dispatch_softmax_forward).
RowKernel warp_kernel(const Softmax& shape, const Gpu& gpu) {
  const Count padded = static_cast<Count>(std::bit_ceil(static_cast<std::uint64_t>(shape.cols)));
  const int lanes = static_cast<int>(std::min<Count>(padded, warp_size(gpu)));
  constexpr int kThreads = 128;
  RowKernel kernel;
  kernel.rows_per_cta = Count{kThreads / lanes} * (padded <= 128 ? 2 : 1);
  kernel.cta = {kThreads, static_cast<int>(24 + 2 * padded / lanes), bytes(0)};
  // Every lane computes on its share of the padded row, and log2(lanes) shuffle steps for each reduction.
  const double work = static_cast<double>(padded);
  const double shuffles = static_cast<double>(std::bit_width(static_cast<unsigned>(lanes)) - 1) * lanes;
  if (shape.backward) {
    kernel.slots = work * kBackwardSlots + shuffles;
  } else {
    kernel.slots = work * (kMaxSlots + kExpSumSlots + kDivision.slots) + 2 * shuffles;
    kernel.xu = work * (kExp.xu + kDivision.xu);
  }
  return kernel;
}

// SoftMax_getBlockSize: a power of two that keeps at least half of the row in 16-byte accesses.
int block_with_vectors(Count cols, Bytes element, const Gpu& gpu) {
  const Count vector = static_cast<Count>(16 / in_bytes(element));
  const Count most = std::min<Count>(cols / vector, 1024) / (vector > 1 ? 2 : 1);
  return static_cast<int>(std::max<Count>(
      warp_size(gpu), static_cast<Count>(std::bit_ceil(static_cast<std::uint64_t>(std::max<Count>(most, 1))))));
}

// SoftMaxForward_getBlockSize of later releases: as many threads as elements, whole warps, at most 1024.
int block_of_row(Count cols, const Gpu& gpu) {
  return static_cast<int>(round_up(std::min<Count>(cols, 1024), warp_size(gpu)));
}

// Shared memory a CTA gets without asking for more: cudaDeviceProp::sharedMemPerBlock.
Bytes default_shared(const Gpu& gpu) { return kibibytes(gpu.vendor == Vendor::amd ? 64 : 48); }

// cunn_SoftMaxForward reads the row three times; cunn_SoftMaxForwardSmem keeps it in shared memory.
RowKernel block_forward(const Softmax& shape, Bytes element, const Gpu& gpu) {
  const bool early = torch_release(gpu) == TorchRelease::v2_1;
  const double cols = static_cast<double>(shape.cols);
  const Bytes row = element * cols;
  const int threads = early ? block_with_vectors(shape.cols, element, gpu) : block_of_row(shape.cols, gpu);
  const Bytes reduce_buffer = bytes(4.0 * (early ? threads : threads / warp_size(gpu)));
  const bool vectors = shape.cols % static_cast<Count>(16 / in_bytes(element)) == 0;
  const bool keeps_row = !early && vectors && row < default_shared(gpu) - reduce_buffer;
  RowKernel kernel;
  kernel.cta = {threads, 32, keeps_row ? default_shared(gpu) : reduce_buffer};
  kernel.reread = keeps_row ? bytes(0) : row * 2;
  kernel.shared = keeps_row ? row * 3 : bytes(0);
  kernel.slots =
      cols * (kMaxSlots + kExpSumSlots + 1 + kExp.slots + kDivision.slots) + 2 * reduction_slots(threads, gpu, 1);
  kernel.xu = cols * (2 * kExp.xu + kDivision.xu);
  kernel.steps = 3 * static_cast<double>(ceil_div(shape.cols, threads * static_cast<Count>(16 / in_bytes(element))));
  return kernel;
}

// cunn_SoftMaxBackward: the sum over g, then g and y.
RowKernel block_backward(const Softmax& shape, Bytes element, const Gpu& gpu) {
  const double cols = static_cast<double>(shape.cols);
  const int threads = block_with_vectors(shape.cols, element, gpu);
  RowKernel kernel;
  kernel.cta = {threads, 32, bytes(4.0 * threads)};
  kernel.reread = element * cols;
  kernel.slots = cols * kBackwardSlots + reduction_slots(threads, gpu, 1);
  kernel.steps = 2 * static_cast<double>(ceil_div(shape.cols, threads * static_cast<Count>(16 / in_bytes(element))));
  return kernel;
}

// The warp kernels count elements in 32 bits: at most 2^30 of them a launch.
Count rows_per_launch(const Softmax& shape, bool warp) {
  if (!warp) return shape.rows;
  return std::max((Count{1} << 30) / shape.cols, ceil_div(shape.rows, kMostPieces));
}

}  // namespace

Status Softmax::check() const { return require_rows(rows, cols); }

Result<Plan> plan(const Softmax& shape, const Format& format, const Gpu& gpu, const Context&) {
  const Bytes element = size_of(format.output);
  const Bytes row = element * static_cast<double>(shape.cols);
  const bool warp = in_registers(shape.cols, element);
  RowKernel kernel = warp             ? warp_kernel(shape, gpu)
                     : shape.backward ? block_backward(shape, element, gpu)
                                      : block_forward(shape, element, gpu);
  kernel.name = shape.backward ? "softmax_backward" : "softmax";
  kernel.read = row * (shape.backward ? 2 : 1);
  kernel.written = row;
  kernel.vector_type = vector_type_of(format);

  Plan plan;
  if (shape.backward) {  // softmax_backward_cuda_out first forms grad * y in a tensor of its own
    Pointwise product{
        "softmax_backward_product", shape.rows * shape.cols, element, 2, 1, Operand::Role::workspace, {1, 0},
        least_slots(1, element),    kernel.vector_type};
    plan.launches = pointwise_launches(product, gpu);
  }
  const Count chunk = rows_per_launch(shape, warp);
  for (Count done = 0; done < shape.rows; done += chunk) {
    kernel.rows = std::min(chunk, shape.rows - done);
    const double rows = static_cast<double>(kernel.rows);
    Launch launch = row_launch(kernel, gpu);
    // One product per element is certain (the scale by 1/sum, or by the row's sum); faster forms of the rest exist.
    launch.required.vector = ops(2 * least_slots(1, element) * rows * static_cast<double>(shape.cols));
    if (shape.backward) launch.operands.add({"product", row * rows, Operand::Role::workspace, true, false});
    launch.operands.add({shape.backward ? "result" : "input", row * rows, Operand::Role::activation, true, false});
    launch.operands.add({"output", row * rows, Operand::Role::activation, false, true});
    plan.launches.push_back(std::move(launch));
  }
  return plan;
}

}  // namespace tilecast
