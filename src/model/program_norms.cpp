// Norms and softmax, forward and backward.
#include <algorithm>
#include <bit>

#include "constants/program.h"
#include "kernel/custom.h"
#include "kernel/elementwise.h"
#include "kernel/layernorm.h"
#include "kernel/softmax.h"
#include "model/program_rules.h"

namespace tilecast {
namespace {

using constants::kNormGradientLoads;
using constants::kNormGradientSlots;
using constants::kStatisticsLoads;
using constants::kStatisticsSlots;

// 0 where no tensor has so many.
Count product_of(const std::vector<Count>& sizes) {
  constexpr double kMost = 1e15;
  double n = 1;
  for (const Count size : sizes) n *= static_cast<double>(size);
  return n >= 0 && n < kMost ? static_cast<Count>(n) : 0;
}

// Rows are all that the normalised axes leave.
struct Rows {
  Count rows = 0, cols = 0;
};
Rows normalised_rows(const OperatorView& view, const ProgramLayout& in) {
  const Count cols = product_of(view.wholes("normalized_shape"));
  return {cols > 0 ? elements_of(in) / cols : 0, cols};
}

// Kernels that walk whole rows take a copy where these are not dense.
void add_dense_copy(KernelList& list, const ProgramLayout& in) {
  ProgramLayout dense = in;
  Count stride = 1;
  for (std::size_t i = dense.shape.size(); i-- > 0; stride *= std::max<Count>(1, dense.shape[i]))
    dense.strides[i] = stride;
  const ProgramLayout* operands[] = {&dense, &in};
  if (!iterator_walk(operands).contiguous) add_copy(list, dense, in);
}

template <class Norm>
void lower_norm(const OperatorView& view, KernelList& list) {
  const ProgramLayout* in = view.tensor("input");
  if (!in) return;
  const Rows rows = normalised_rows(view, *in);
  if (rows.rows == 0 || rows.cols == 0) return;
  add_dense_copy(list, *in);
  constexpr Count kNarrow = 256;  // columns: the gradient of narrower rows is a CTA a row and a pass for the parameters
  if (operator_base(view.name()).ends_with("backward") && rows.cols < kNarrow) {
    const double size = bytes_of(*in);
    add_row_gather(list, "norm gradient", static_cast<double>(rows.rows), 2 * size, size);
    list.add_pass("parameter gradients", 2 * size, 0, element_bytes(in->dtype));
    return;
  }
  Norm shape;
  shape.rows = rows.rows, shape.cols = rows.cols;
  shape.backward = operator_base(view.name()).ends_with("backward");
  list.add(shape.backward ? "norm gradient" : "norm", shape, priced_as(in->dtype).format);
}

bool is_channels_last(const ProgramLayout& image) {
  return image.shape.size() >= 3 && image.strides[1] == 1 && image.shape[1] > 1;
}

// cuDNN's kernels for training, channels first: a CTA has one channel of all images ("1C11" in their names) and goes
// over it `times` times, four numbers of fp32 a thread at once. Grid and block as profiled
// (h200_programs_kernels.csv.gz).
void add_channel_ctas(KernelList& list, std::string_view name, const ProgramLayout& in, double reads, double written) {
  constexpr Count kThreads = 512;
  constexpr double kVector = 16;
  const double size = bytes_of(in), channel = size / static_cast<double>(std::max<Count>(1, in.shape[1]));
  Custom shape;
  shape.ctas = std::max<Count>(1, in.shape[1]), shape.threads = kThreads;
  shape.load_bytes = reads * size, shape.store_bytes = written;
  shape.steps = std::max(1.0, reads * channel / (kVector * static_cast<double>(kThreads)));
  list.add(name, shape, "fp32");
}

struct ChannelWork {
  double reads, writes;  // of the image
  double loads, slots;   // that wait for each other in a turn; of instructions for an element
};
// PyTorch's own for training, channels first: a CTA has a channel of all images and goes over it number by number, one
// for each of 512 threads (Normalization.cuh: rows of threads over positions, as many of them as fit over images).
struct ChannelWalk {
  Count channels = 1;
  double turns = 1;     // of a CTA's threads over its channel
  double elements = 1;  // with those that find nothing
};
ChannelWalk channel_walk(const ProgramLayout& in) {
  constexpr Count kThreads = 512, kLeast = 32;
  const Count channels = std::max<Count>(1, in.shape[1]), images = std::max<Count>(1, in.shape[0]);
  const Count positions = std::max<Count>(1, elements_of(in) / (channels * images));
  const auto across =
      std::clamp(static_cast<Count>(std::bit_ceil(static_cast<std::uint64_t>(positions))), kLeast, kThreads);
  ChannelWalk walk{channels, static_cast<double>(ceil_div(positions, across) * ceil_div(images, kThreads / across)), 1};
  walk.elements = walk.turns * static_cast<double>(channels * kThreads);
  return walk;
}
void add_channel_walk(KernelList& list, std::string_view name, const ProgramLayout& in, const ChannelWork& work) {
  constexpr Count kThreads = 512;
  const ChannelWalk walk = channel_walk(in);
  Custom shape;
  shape.ctas = walk.channels, shape.threads = kThreads;
  shape.load_bytes = work.reads * bytes_of(in), shape.store_bytes = std::max(1.0, work.writes * bytes_of(in));
  shape.steps = std::max(1.0, work.loads * walk.turns);
  shape.vector_ops = 2 * work.slots * walk.elements;
  list.add(name, shape, "fp32");
}

// Channels last, 128 CTAs at most go down the rows of 32 channels (Normalization.cuh, flexible_launch_configs): with fewer channels
// than fill the card, the pass goes by what so many CTAs move, 7 GB/s each on an H200 (mnasnet: 0.98 TB/s of 32 channels, 1.4 of 48).
double few_channels_slow(const ProgramLayout& in) {
  constexpr double kFillTheCard = 82;
  return std::max(1.0, kFillTheCard / static_cast<double>(in.shape[1]));
}

// Of images: channel by channel over batch and positions. Evaluation is a pointwise pass; training reads everything
// once for the sums and once more to normalise. Channels first, a CTA has one channel of one image.
void lower_batch_norm(const OperatorView& view, KernelList& list) {
  const ProgramLayout* in = view.tensor("input");
  if (!in || in->shape.size() < 2 || elements_of(*in) == 0) return;
  const double size = bytes_of(*in), element = element_bytes(in->dtype);
  const bool cudnn = operator_base(view.name()).starts_with("cudnn");
  if (view.truth("training", true) && cudnn && !is_channels_last(*in))
    return add_channel_ctas(list, "batch norm", *in, 2, size);
  if (view.truth("training", true) && !is_channels_last(*in))
    add_channel_walk(list, "batch statistics", *in, {1, 0, kStatisticsLoads, kStatisticsSlots});
  else if (view.truth("training", true))
    list.add_pass("batch statistics", size, 0, element, TorchWalk::vectorized, PointwiseOp::add,
                  Manner::sums_of_squares);
  if (is_channels_last(*in)) {
    const double slower = few_channels_slow(*in);
    list.add_pass("batch norm", slower * size, slower * size, element, TorchWalk::vectorized, PointwiseOp::mul, Manner::by_channel);
    return;
  }
  constexpr Count kThreads = 256;
  list.add_grid("batch norm", static_cast<double>(in->shape[0] * in->shape[1]), kThreads, size, size, 0).manner =
      cudnn ? Manner::by_plane : Manner::by_plane_native;
}

void lower_batch_norm_backward(const OperatorView& view, KernelList& list) {
  const ProgramLayout* in = view.tensor("input");
  if (!in || in->shape.size() < 2 || elements_of(*in) == 0) return;
  const double size = bytes_of(*in), element = element_bytes(in->dtype);
  if (operator_base(view.name()).starts_with("cudnn") && !is_channels_last(*in))
    return add_channel_ctas(list, "batch norm gradient", *in, 4, size);
  if (!is_channels_last(*in))
    return add_channel_walk(list, "batch norm gradient", *in, {4, 1, kNormGradientLoads, kNormGradientSlots});
  list.add_pass("batch norm sums", 2 * size, 0, element, TorchWalk::vectorized, PointwiseOp::add, Manner::channel_sums);
  list.add_pass("batch norm gradient", 2 * size, size, element, TorchWalk::vectorized, PointwiseOp::mul,
                Manner::by_channel);
}

void lower_group_norm(const OperatorView& view, KernelList& list) {
  const ProgramLayout* in = view.tensor("input");
  if (!in || elements_of(*in) == 0) return;
  const double size = bytes_of(*in), element = element_bytes(in->dtype);
  const Count groups = std::max<Count>(1, product_of({view.whole("N", 1), view.whole("group", 1)}));
  // A CTA for a group of an image, whose threads load number after number (group_norm_kernel.cu, RowwiseMomentsCUDAKernel).
  constexpr Count kThreads = 512;
  const double turns = static_cast<double>(elements_of(*in)) / static_cast<double>(groups * kThreads);
  constexpr double kAtOnce = 2;
  list.add_grid("group moments", static_cast<double>(groups), kThreads, size, 1, std::max(1.0, turns / kAtOnce));
  list.add_pass("group norm", size, size, element, TorchWalk::strided, PointwiseOp::mul, Manner::strided);
}

void lower_group_norm_backward(const OperatorView& view, KernelList& list) {
  const ProgramLayout* in = view.tensor("input");
  if (!in || elements_of(*in) == 0) return;
  const double size = bytes_of(*in), element = element_bytes(in->dtype);
  list.add_pass("group norm sums", 2 * size, 0, element, TorchWalk::vectorized, PointwiseOp::add, Manner::channel_sums);
  list.add_pass("group norm gradient", 2 * size, size, element, TorchWalk::strided, PointwiseOp::mul);
}

// log_softmax over rows that do not stay on the SM: the row is read for its maximum, for its sum and for the result;
// the gradient reads what comes in twice (SoftMax.cu, cunn_SoftMaxForward and cunn_SoftMaxBackward).
bool lower_long_rows(const OperatorView& view, KernelList& list, const ProgramLayout& in, Count cols, bool backward) {
  constexpr double kShared = 48 * 1024;  // bytes that a CTA has without asking for more
  const double row = static_cast<double>(cols) * element_bytes(in.dtype), size = bytes_of(in);
  const bool log = operator_base(view.name()).starts_with("_log");
  if (!log || cols <= 1024) return false;
  const double reads = backward ? (row > kShared ? 3 : 2) : (row > kShared ? 3 : 1);
  list.add_pass(backward ? "softmax gradient" : "softmax", reads * size, size, element_bytes(in.dtype),
                TorchWalk::vectorized, PointwiseOp::exp);
  return true;
}

void lower_softmax(const OperatorView& view, KernelList& list) {
  const bool backward = operator_base(view.name()).ends_with("data");
  const ProgramLayout* in = view.tensor(backward ? "grad_output" : "self");
  if (!in || in->shape.empty() || elements_of(*in) == 0) return;
  const auto rank = static_cast<Count>(in->shape.size());
  Count dim = view.whole("dim", -1);
  dim = dim < 0 ? dim + rank : dim;
  if (dim < 0 || dim >= rank) return;
  if (lower_long_rows(view, list, *in, in->shape[static_cast<std::size_t>(dim)], backward)) return;
  add_dense_copy(list, *in);
  Softmax shape;
  shape.cols = in->shape[static_cast<std::size_t>(dim)], shape.rows = elements_of(*in) / shape.cols;
  shape.backward = backward;
  list.add(backward ? "softmax gradient" : "softmax", shape, priced_as(in->dtype).format);
}

// Attention's own softmax where a row may be masked altogether: the softmax, a look for such rows and a choice.
void lower_safe_softmax(const OperatorView& view, KernelList& list) {
  lower_softmax(view, list);
  const ProgramLayout* in = view.tensor("self");
  if (!in || elements_of(*in) == 0) return;
  const double size = bytes_of(*in), truths = static_cast<double>(elements_of(*in));
  list.add_pass("where -inf", size, truths, element_bytes(in->dtype));
  list.add_pass("all masked", truths, 0, 1);
  list.add_pass("choice", size, size, element_bytes(in->dtype), TorchWalk::strided, PointwiseOp::relu);
}

// A number a row is read at the place that its target names.
void lower_nll(const OperatorView& view, KernelList& list) {
  const ProgramLayout* in = view.tensor("self");
  if (!in || in->shape.size() < 2) return;
  const auto rows = static_cast<double>(in->shape[0]);
  constexpr double kSector = 32;
  constexpr Count kThreads = 1024;
  if (operator_base(view.name()) == "nll_loss_forward") {
    list.add_grid("loss", 1, kThreads, rows * kSector, element_bytes(in->dtype), rows / kThreads);
    return;
  }
  list.add_pass("fill", 0, bytes_of(*in), element_bytes(in->dtype), TorchWalk::vectorized, PointwiseOp::copy,
                Manner::write_only);
  constexpr double kEach = 4;  // rows that one thread goes through one after the other: the kernel has one CTA
  list.add_grid("loss gradient", 1, kThreads, rows * kSector, rows * kSector, rows / kThreads * kEach);
}

}  // namespace

std::span<const ProgramRule> program_norm_rules() {
  static const std::vector<ProgramRule> rules = {{"native_layer_norm", lower_norm<LayerNorm>},
                                                 {"native_layer_norm_backward", lower_norm<LayerNorm>},
                                                 {"_fused_rms_norm", lower_norm<LayerNorm>},
                                                 {"_fused_rms_norm_backward", lower_norm<LayerNorm>},
                                                 {"native_batch_norm", lower_batch_norm},
                                                 {"cudnn_batch_norm", lower_batch_norm},
                                                 {"_native_batch_norm_legit", lower_batch_norm},
                                                 {"native_batch_norm_backward", lower_batch_norm_backward},
                                                 {"cudnn_batch_norm_backward", lower_batch_norm_backward},
                                                 {"native_group_norm", lower_group_norm},
                                                 {"native_group_norm_backward", lower_group_norm_backward},
                                                 {"_softmax", lower_softmax},
                                                 {"_log_softmax", lower_softmax},
                                                 {"_softmax_backward_data", lower_softmax},
                                                 {"_log_softmax_backward_data", lower_softmax},
                                                 {"_safe_softmax", lower_safe_softmax},
                                                 {"nll_loss_forward", lower_nll},
                                                 {"nll_loss_backward", lower_nll},
                                                 {"nll_loss2d_forward", lower_nll},
                                                 {"nll_loss2d_backward", lower_nll}};
  return rules;
}

}  // namespace tilecast
