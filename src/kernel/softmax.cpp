#include "kernel/softmax.h"

#include <algorithm>
#include <bit>

#include "kernel/pytorch.h"
#include "kernel/rowwise.h"

namespace tilecast {
namespace {

// Short rows live in the registers of one warp (host_softmax, host_softmax_backward): 1024 elements and 4096 bytes;
// current releases doubled both for the forward kernel.
bool in_one_warp(const Softmax& shape, Bytes element, TorchRelease release) {
  const Count most = release == TorchRelease::current && !shape.backward ? 2048 : 1024;
  return shape.cols <= most && element * static_cast<double>(shape.cols) <= bytes(4.0 * static_cast<double>(most));
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
  // H200, PyTorch 2.11: 30, 48 and 80 registers for 8, 32 and 64 elements per lane
  // (data/measurements/h200_counters.csv).
  kernel.cta = {kThreads, static_cast<int>(22 + padded / lanes), bytes(0)};
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

Count vector_of(Bytes element) { return static_cast<Count>(16 / in_bytes(element)); }

// SoftMax_getBlockSize: a power of two that keeps at least half of the row in 16-byte accesses.
int block_with_vectors(Count cols, Bytes element, const Gpu& gpu) {
  const Count vector = vector_of(element);
  const Count most = std::min<Count>(cols / vector, 1024) / (vector > 1 ? 2 : 1);
  return static_cast<int>(std::max<Count>(
      warp_size(gpu), static_cast<Count>(std::bit_ceil(static_cast<std::uint64_t>(std::max<Count>(most, 1))))));
}

// Dependent loads of one walk over a row (ilpReduce): elements before a 16-byte boundary in a separate step, then
// vectors, then the remainder, one element per thread. Rows whose length vectors do not divide begin at every offset in
// turn.
double walk_steps(Count cols, int threads, Bytes element) {
  const Count vector = vector_of(element);
  double steps = 0;
  for (Count row = 0; row < vector; ++row) {
    const Count shift = row * cols % vector;
    const Count rest = shift == 0 ? cols : std::max<Count>(0, cols + shift - threads);
    const Count in_vectors = rest / (vector * threads), in_elements = ceil_div(rest % (vector * threads), threads);
    steps += static_cast<double>((shift > 0 ? 1 : 0) + in_vectors + in_elements);
  }
  return steps / static_cast<double>(vector);
}

// SoftMaxForward_getBlockSize of later releases: as many threads as elements, whole warps, at most 1024.
int block_of_row(Count cols, const Gpu& gpu) {
  return static_cast<int>(round_up(std::min<Count>(cols, 1024), warp_size(gpu)));
}

// Shared memory a CTA gets without asking for more: cudaDeviceProp::sharedMemPerBlock.
Bytes default_shared(const Gpu& gpu) { return kibibytes(gpu.vendor == Vendor::amd ? 64 : 48); }

// Whether a CTA can keep its row in shared memory: whole 16-byte vectors, and room for the sums of its warps besides.
bool fits_shared(Count cols, Bytes element, int threads, const Gpu& gpu) {
  return cols % vector_of(element) == 0 &&
         element * static_cast<double>(cols) < default_shared(gpu) - bytes(4.0 * threads / warp_size(gpu));
}

// Where a block kernel keeps the row between its passes.
enum class Keeps : std::uint8_t { nothing, shared, registers };
Keeps forward_keeps(Count cols, Bytes element, int threads, const Gpu& gpu, TorchRelease release) {
  constexpr Count kMostRegisters = 9;  // elements a thread of cunn_SoftMaxForwardReg holds
  if (release == TorchRelease::v2_1) return Keeps::nothing;
  if (release == TorchRelease::current && ceil_div(cols, threads) <= kMostRegisters) return Keeps::registers;
  return fits_shared(cols, element, threads, gpu) ? Keeps::shared : Keeps::nothing;
}

// cunn_SoftMaxForward reads the row three times; its Smem and Reg forms once.
RowKernel block_forward(const Softmax& shape, Bytes element, const Gpu& gpu, TorchRelease release) {
  const bool early = release == TorchRelease::v2_1;
  const double cols = static_cast<double>(shape.cols);
  const Bytes row = element * cols;
  const int threads = early ? block_with_vectors(shape.cols, element, gpu) : block_of_row(shape.cols, gpu);
  const Keeps keeps = forward_keeps(shape.cols, element, threads, gpu, release);
  const Bytes sums = bytes(4.0 * (early ? threads : threads / warp_size(gpu)));
  RowKernel kernel;
  kernel.cta = {threads, 32, sums};
  if (keeps == Keeps::shared) {
    // 2.4 asks for all a CTA gets by default, current releases for what the row takes.
    kernel.cta.shared_memory = release == TorchRelease::current ? row + sums : default_shared(gpu);
    kernel.shared = row * 3;
  }
  kernel.reread = keeps == Keeps::nothing ? row * 2 : bytes(0);
  kernel.slots =
      cols * (kMaxSlots + kExpSumSlots + 1 + kExp.slots + kDivision.slots) + 2 * reduction_slots(threads, gpu, 1);
  kernel.xu = cols * (2 * kExp.xu + kDivision.xu);
  kernel.steps =
      3 * (keeps == Keeps::nothing ? walk_steps(shape.cols, threads, element)
                                   : static_cast<double>(ceil_div(shape.cols, threads * vector_of(element))));
  return kernel;
}

// cunn_SoftMaxBackward: the sum over g, then g and y; current releases keep g in shared memory where it fits.
RowKernel block_backward(const Softmax& shape, Bytes element, const Gpu& gpu, TorchRelease release) {
  const double cols = static_cast<double>(shape.cols);
  const Bytes row = element * cols;
  const int threads = block_with_vectors(shape.cols, element, gpu);
  const bool keeps = release == TorchRelease::current && fits_shared(shape.cols, element, threads, gpu);
  RowKernel kernel;
  kernel.cta = {threads, 32, keeps ? row + bytes(4.0 * threads / warp_size(gpu)) : bytes(4.0 * threads)};
  kernel.reread = keeps ? bytes(0) : row;
  kernel.shared = keeps ? row * 2 : bytes(0);
  kernel.slots = cols * kBackwardSlots + reduction_slots(threads, gpu, 1);
  kernel.steps = 2 * walk_steps(shape.cols, threads, element);
  return kernel;
}

// The warp kernels count elements in 32 bits: at most 2^30 of them per launch.
Count rows_per_launch(const Softmax& shape, bool warp) {
  if (!warp) return shape.rows;
  return std::max((Count{1} << 30) / shape.cols, ceil_div(shape.rows, kMostPieces));
}

}  // namespace

Status Softmax::check() const { return require_rows(rows, cols); }

Result<Plan> plan(const Softmax& shape, const Format& format, const Gpu& gpu, const Context& context) {
  const Bytes element = size_of(format.output);
  const Bytes row = element * static_cast<double>(shape.cols);
  const bool warp = in_one_warp(shape, element, context.torch);
  RowKernel kernel = warp             ? warp_kernel(shape, gpu)
                     : shape.backward ? block_backward(shape, element, gpu, context.torch)
                                      : block_forward(shape, element, gpu, context.torch);
  kernel.name = shape.backward ? "softmax_backward" : "softmax";
  kernel.read = row * (shape.backward ? 2 : 1);
  kernel.written = row;
  kernel.vector_type = vector_type_of(format);

  Plan plan;
  if (shape.backward) {  // softmax_backward_cuda_out first forms grad * y in a tensor of its own
    Pointwise product{
        "softmax_backward_product", shape.rows * shape.cols, element, 2, 1, Operand::Role::workspace, {1, 0},
        least_slots(1, element),    kernel.vector_type};
    plan.launches = pointwise_launches(product, gpu, context.torch);
  }
  const Count chunk = rows_per_launch(shape, warp);
  for (Count done = 0; done < shape.rows; done += chunk) {
    kernel.rows = std::min(chunk, shape.rows - done);
    const double rows = static_cast<double>(kernel.rows);
    Launch launch = row_launch(kernel, gpu);
    // One product per element is certain (the scale by 1/sum, or by the row's sum); faster forms of the rest exist.
    launch.required.vector = ops(2 * least_slots(1, element) * rows * static_cast<double>(shape.cols));
    if (shape.backward) launch.operands.add({"product", row * rows, Operand::Role::workspace, true, false});
    launch.operands.add(
        walked_operand(shape.backward ? "result" : "input", row * rows, Operand::Role::activation, kernel, gpu));
    launch.operands.add({"output", row * rows, Operand::Role::activation, false, true});
    plan.launches.push_back(std::move(launch));
  }
  return plan;
}

}  // namespace tilecast
