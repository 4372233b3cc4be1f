// Pointwise operators: one kernel over all elements, vectorized where TensorIterator can walk its operands in one run.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernel/copy.h"
#include "kernel/elementwise.h"
#include "model/onnx_rules.h"
#include "model/program_rules.h"

namespace tilecast {
namespace {

struct PointwiseRow {
  std::string_view op;
  PointwiseOp as;
};
// What an element costs beyond its loads and stores; gradients by what they compute.
constexpr auto kPointwise = std::to_array<PointwiseRow>({
    {"add", PointwiseOp::add},
    {"sub", PointwiseOp::add},
    {"rsub", PointwiseOp::add},
    {"mul", PointwiseOp::mul},
    {"div", PointwiseOp::div},
    {"floor_divide", PointwiseOp::div},
    {"remainder", PointwiseOp::div},
    {"fmod", PointwiseOp::div},
    {"reciprocal", PointwiseOp::div},
    {"neg", PointwiseOp::mul},
    {"abs", PointwiseOp::relu},
    {"sgn", PointwiseOp::relu},
    {"sign", PointwiseOp::relu},
    {"maximum", PointwiseOp::relu},
    {"minimum", PointwiseOp::relu},
    {"relu", PointwiseOp::relu},
    {"clamp", PointwiseOp::relu},
    {"clamp_min", PointwiseOp::relu},
    {"clamp_max", PointwiseOp::relu},
    {"hardtanh", PointwiseOp::relu},
    {"hardtanh_backward", PointwiseOp::relu},
    {"hardswish", PointwiseOp::mul},
    {"hardswish_backward", PointwiseOp::mul},
    {"hardsigmoid", PointwiseOp::mul},
    {"hardsigmoid_backward", PointwiseOp::mul},
    {"leaky_relu", PointwiseOp::relu},
    {"leaky_relu_backward", PointwiseOp::relu},
    {"_prelu_kernel", PointwiseOp::mul},
    {"threshold", PointwiseOp::relu},
    {"threshold_backward", PointwiseOp::relu},
    {"elu", PointwiseOp::exp},
    {"elu_backward", PointwiseOp::exp},
    {"softplus", PointwiseOp::tanh},
    {"softplus_backward", PointwiseOp::tanh},
    {"mish", PointwiseOp::tanh},
    {"log_sigmoid_forward", PointwiseOp::tanh},
    {"log_sigmoid_backward", PointwiseOp::tanh},
    {"gelu", PointwiseOp::gelu},
    {"gelu_backward", PointwiseOp::gelu},
    {"silu", PointwiseOp::silu},
    {"silu_backward", PointwiseOp::silu},
    {"sigmoid", PointwiseOp::silu},
    {"sigmoid_backward", PointwiseOp::mul},
    {"tanh", PointwiseOp::tanh},
    {"tanh_backward", PointwiseOp::mul},
    {"sqrt", PointwiseOp::div},
    {"rsqrt", PointwiseOp::exp},
    {"exp", PointwiseOp::exp},
    {"exp2", PointwiseOp::exp},
    {"expm1", PointwiseOp::tanh},
    {"log", PointwiseOp::exp},
    {"log2", PointwiseOp::exp},
    {"log1p", PointwiseOp::tanh},
    {"sin", PointwiseOp::tanh},
    {"cos", PointwiseOp::tanh},
    {"tan", PointwiseOp::tanh},
    {"atan2", PointwiseOp::tanh},
    {"erf", PointwiseOp::gelu},
    {"floor", PointwiseOp::relu},
    {"ceil", PointwiseOp::relu},
    {"round", PointwiseOp::relu},
    {"trunc", PointwiseOp::relu},
    {"square", PointwiseOp::mul},
    {"lerp", PointwiseOp::mul},
    {"addcmul", PointwiseOp::mul},
    {"addcdiv", PointwiseOp::div},
    {"where", PointwiseOp::relu},
    {"masked_fill", PointwiseOp::relu},
    {"eq", PointwiseOp::relu},
    {"ne", PointwiseOp::relu},
    {"lt", PointwiseOp::relu},
    {"le", PointwiseOp::relu},
    {"gt", PointwiseOp::relu},
    {"ge", PointwiseOp::relu},
    {"isnan", PointwiseOp::relu},
    {"isinf", PointwiseOp::relu},
    {"isneginf", PointwiseOp::relu},
    {"logical_not", PointwiseOp::relu},
    {"logical_and", PointwiseOp::relu},
    {"logical_or", PointwiseOp::relu},
    {"bitwise_not", PointwiseOp::relu},
    {"bitwise_and", PointwiseOp::relu},
    {"bitwise_or", PointwiseOp::relu},
    {"bitwise_xor", PointwiseOp::relu},
    {"tril", PointwiseOp::relu},
    {"triu", PointwiseOp::relu},
    {"native_dropout_backward", PointwiseOp::mul},
    {"mse_loss_backward", PointwiseOp::mul},
    {"smooth_l1_loss_backward", PointwiseOp::mul},
    {"binary_cross_entropy_with_logits", PointwiseOp::tanh},
    {"nan_to_num", PointwiseOp::relu},
});

// Powers that PyTorch multiplies out or takes roots for; any other is CUDA's powf (PowKernel.cu).
PointwiseOp kernel_of_power(const OperatorView& view) {
  if (view.tensor("exponent")) return PointwiseOp::pow;
  const double exponent = view.number("exponent", 2);
  if (exponent == 2 || exponent == 3 || exponent == -2) return PointwiseOp::square;
  return std::abs(exponent) == 0.5 || exponent == -1 ? PointwiseOp::div : PointwiseOp::pow;
}

PointwiseOp kernel_of(const OperatorView& view) {
  const std::string_view base = operator_base(view.name());
  for (const PointwiseRow& row : kPointwise)
    if (row.op == base) return row.as;
  return base == "pow" ? kernel_of_power(view) : PointwiseOp::add;
}

// Tensors that a kernel reads element by element: those on the card. A number on the CPU is a constant of the kernel.
std::vector<const ProgramLayout*> walked(const OperatorView& view) {
  std::vector<const ProgramLayout*> list;
  for (const ProgramLayout* input : view.inputs())
    if (input->on_card) list.push_back(input);
  return list;
}

// Kernels of one type are vectorized; with several, elements are converted one by one as they are loaded
// (gpu_kernel_impl in CUDALoops.cuh), unless the odd one is a choice's condition, which the kernel takes as it is.
bool converts(const std::vector<const ProgramLayout*>& inputs, const ProgramLayout& out) {
  for (const ProgramLayout* input : inputs)
    if (input->dtype != out.dtype && input->dtype != "bool" && out.dtype != "bool") return true;
  return false;
}

// Operands of several types: elements of half the width stand for what is read, the result is twice as wide.
void add_mixed(const OperatorView& view, KernelList& list, double read, PointwiseOp op, const IteratorWalk& walk) {
  const ProgramLayout& out = *view.result();
  const double elements = static_cast<double>(elements_of(out)), narrow = element_bytes(out.dtype) / 2;
  const double inputs = std::clamp(std::round(read / (elements * narrow)), 1.0, 6.0);
  if (out.dtype == "fp32") {
    ProgramKernel& kernel =
        list.add(operator_base(view.name()), pointwise_shape(op, elements_of(out), static_cast<Count>(inputs)), "bf16",
                 walk.contiguous ? TorchWalk::widen : TorchWalk::strided_widen);
    kernel.manner = walk.contiguous ? Manner::mixed : Manner::mixed_strided, kernel.axes = walk.axes;
    return;
  }
  list.add_pass(operator_base(view.name()), read, elements * element_bytes(out.dtype),
                std::max(element_bytes(out.dtype), 2.0), TorchWalk::strided, op);
}

}  // namespace

void lower_pointwise(const OperatorView& view, KernelList& list) {
  const ProgramLayout* out = view.result();
  if (!out || elements_of(*out) == 0) return;
  const std::vector<const ProgramLayout*> inputs = walked(view);
  std::vector<const ProgramLayout*> operands = {out};
  const auto elements = static_cast<double>(elements_of(*out));
  double read = 0;
  for (const ProgramLayout* input : inputs) {
    operands.push_back(input);
    read += std::min(bytes_of(*input), elements * element_bytes(input->dtype));
  }
  const IteratorWalk walk = iterator_walk(operands);
  const PointwiseOp op = kernel_of(view);
  if (converts(inputs, *out)) return add_mixed(view, list, read, op, walk);
  const PricedAs priced = priced_as(out->dtype);
  const double full = elements * element_bytes(out->dtype), inputs_read = std::round(read / full);
  if (walk.transposed && priced.elements == 1 && walk.inner > 1) {  // what is read across its rows sets the pace
    Copy shape;
    shape.rows = walk.inner, shape.cols = elements_of(*out) / walk.inner, shape.transpose = true;
    list.add("transposed operand", shape, priced.format);
    return;
  }
  if (priced.elements == 1 && std::abs(read - inputs_read * full) < full / 16) {
    ProgramKernel& kernel =
        list.add(std::string(operator_base(view.name())),
                 pointwise_shape(op, elements_of(*out), std::clamp<Count>(static_cast<Count>(inputs_read), 1, 6)),
                 priced.format, walk.walk);
    if (!walk.contiguous) kernel.manner = Manner::strided, kernel.axes = walk.axes;
    return;
  }
  list.add_pass(operator_base(view.name()), read, full, std::max(element_bytes(out->dtype), 2.0), walk.walk, op);
}

namespace {

// Values made from nothing: one write.
void lower_fill(const OperatorView& view, KernelList& list) {
  const ProgramLayout* out = view.result();
  if (!out || elements_of(*out) == 0 || !out->on_card) return;
  list.add_pass("fill", 0, bytes_of(*out), element_bytes(out->dtype), TorchWalk::vectorized, PointwiseOp::copy,
                Manner::write_only);
}

// The result and one byte per element that says what was kept (Dropout.cu): one kernel.
void lower_dropout(const OperatorView& view, KernelList& list) {
  const ProgramLayout* in = view.tensor("input");
  if (!in) return;
  double written = 0;
  for (const ProgramLayout* out : view.results()) written += bytes_of(*out);
  list.add_pass("dropout", bytes_of(*in), written, element_bytes(in->dtype), TorchWalk::vectorized, PointwiseOp::tanh,
                Manner::random);
}

// The first power is a copy, and the second a product (PowKernel.cu).
void lower_pow(const OperatorView& view, KernelList& list) {
  const ProgramLayout *in = view.tensor("self"), *out = view.result();
  if (in && out && !view.tensor("exponent") && view.number("exponent", 2) == 1) return add_copy(list, *out, *in);
  lower_pointwise(view, list);
}

// Losses: a pointwise pass and a reduction to one number.
void lower_loss(const OperatorView& view, KernelList& list) {
  const ProgramLayout* in = view.tensor("self");
  if (!in || elements_of(*in) == 0) return;
  double read = 0;
  for (const ProgramLayout* input : view.inputs()) read += bytes_of(*input);
  list.add_pass("loss", read, bytes_of(*in), element_bytes(in->dtype));
  if (const ProgramLayout* out = view.result(); out && elements_of(*out) == 1)
    add_reduction(list, *in, 1, true, view.card());
}

}  // namespace

std::span<const ProgramRule> program_pointwise_rules() {
  static const std::vector<ProgramRule> rules = [] {
    std::vector<ProgramRule> made;
    for (const PointwiseRow& row : kPointwise)
      if (row.op != "binary_cross_entropy_with_logits") made.push_back({row.op, lower_pointwise});
    for (const std::string_view op :
         {"fill",      "zero",      "zeros",       "ones",      "full",    "zeros_like",    "ones_like",
          "full_like", "new_zeros", "new_ones",    "new_full",  "arange",  "scalar_tensor", "rand",
          "randn",     "rand_like", "randn_like",  "bernoulli", "uniform", "normal",        "randint",
          "linspace",  "eye",       "exponential", "random"})
      made.push_back({op, lower_fill});
    made.push_back({"native_dropout", lower_dropout});
    made.push_back({"pow", lower_pow});
    for (const std::string_view op : {"mse_loss", "binary_cross_entropy_with_logits", "smooth_l1_loss", "l1_loss",
                                      "kl_div", "huber_loss", "binary_cross_entropy"})
      made.push_back({op, lower_loss});
    return made;
  }();
  return rules;
}

}  // namespace tilecast
