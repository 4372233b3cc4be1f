// Norms and softmax, forward and backward.
#include <algorithm>

#include "model/program_rules.h"

namespace tilecast {
namespace {

Count product_of(const std::vector<Count>& sizes) {
  Count n = 1;
  for (const Count size : sizes) n *= size;
  return n;
}

// Rows are all that the normalised axes leave.
struct Rows {
  Count rows = 0, cols = 0;
};
Rows normalised_rows(const OperatorView& view, const ProgramLayout& in) {
  const Count cols = product_of(view.wholes("normalized_shape"));
  return {cols > 0 ? elements_of(in) / cols : 0, cols};
}

template <class Norm>
void lower_norm(const OperatorView& view, KernelList& list) {
  const ProgramLayout* in = view.tensor("input");
  if (!in) return;
  const Rows rows = normalised_rows(view, *in);
  if (rows.rows == 0 || rows.cols == 0) return;
  Norm shape;
  shape.rows = rows.rows, shape.cols = rows.cols;
  shape.backward = operator_base(view.name()).ends_with("backward");
  list.add(shape.backward ? "norm gradient" : "norm", shape, priced_as(in->dtype).format);
}

// Of images: channel by channel over batch and positions. Evaluation is a pointwise pass; training reads everything once
// for the sums and once more to normalise.
void lower_batch_norm(const OperatorView& view, KernelList& list) {
  const ProgramLayout* in = view.tensor("input");
  if (!in || in->shape.size() < 2 || elements_of(*in) == 0) return;
  const double size = bytes_of(*in), element = element_bytes(in->dtype);
  if (view.truth("training", true)) list.add_pass("batch statistics", size, 0, element);
  list.add_pass("batch norm", size, size, element, TorchWalk::vectorized, PointwiseOp::mul);
}

void lower_batch_norm_backward(const OperatorView& view, KernelList& list) {
  const ProgramLayout* in = view.tensor("input");
  if (!in || elements_of(*in) == 0) return;
  const double size = bytes_of(*in), element = element_bytes(in->dtype);
  list.add_pass("batch norm sums", 2 * size, 0, element);
  list.add_pass("batch norm gradient", 2 * size, size, element, TorchWalk::vectorized, PointwiseOp::mul);
}

void lower_group_norm(const OperatorView& view, KernelList& list) {
  const ProgramLayout* in = view.tensor("input");
  if (!in || elements_of(*in) == 0) return;
  const double size = bytes_of(*in), element = element_bytes(in->dtype);
  const Count groups = std::max<Count>(1, view.whole("N", 1) * view.whole("group", 1));
  add_reduction(list, *in, static_cast<double>(groups), true);
  list.add_pass("group norm", size, size, element, TorchWalk::strided, PointwiseOp::mul);
}

void lower_group_norm_backward(const OperatorView& view, KernelList& list) {
  const ProgramLayout* in = view.tensor("input");
  if (!in || elements_of(*in) == 0) return;
  const double size = bytes_of(*in), element = element_bytes(in->dtype);
  list.add_pass("group norm sums", 2 * size, 0, element);
  list.add_pass("group norm gradient", 2 * size, size, element, TorchWalk::strided, PointwiseOp::mul);
}

void lower_softmax(const OperatorView& view, KernelList& list) {
  const bool backward = operator_base(view.name()).ends_with("data");
  const ProgramLayout* in = view.tensor(backward ? "grad_output" : "self");
  if (!in || in->shape.empty() || elements_of(*in) == 0) return;
  const auto rank = static_cast<Count>(in->shape.size());
  Count dim = view.whole("dim", -1);
  dim = dim < 0 ? dim + rank : dim;
  if (dim < 0 || dim >= rank) return;
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
  if (operator_base(view.name()) == "nll_loss_forward") {
    list.add_pass("loss", rows * kSector, element_bytes(in->dtype), 4);
    return;
  }
  list.add_pass("fill", 0, bytes_of(*in), element_bytes(in->dtype), TorchWalk::vectorized, PointwiseOp::copy);
  list.add_pass("loss gradient", rows * kSector, rows * kSector, 4);
}

}  // namespace

std::span<const ProgramRule> program_norm_rules() {
  static const std::vector<ProgramRule> rules = {
      {"native_layer_norm", lower_norm<LayerNorm>},
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
