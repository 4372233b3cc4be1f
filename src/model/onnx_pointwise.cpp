// Operators that work element by element, with broadcasting; on small constants they are computed.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "kernel/elementwise.h"
#include "kernel/gated_activation.h"
#include "model/onnx_rules.h"

namespace tilecast {
namespace {

Status infer_pointwise(OnnxInfer& n);
Status infer_comparison(OnnxInfer& n);
Status infer_where(OnnxInfer& n);
Status lower_pointwise(OnnxLower& lower, const OnnxStep& step);

// The kernel whose arithmetic is nearest.
struct Row {
  std::string_view op;
  std::size_t inputs;
  PointwiseOp as;
};
constexpr auto kArithmetic = std::to_array<Row>({
    {"Add", 2, PointwiseOp::add},
    {"Sub", 2, PointwiseOp::add},
    {"Mul", 2, PointwiseOp::mul},
    {"Div", 2, PointwiseOp::div},
    {"Pow", 2, PointwiseOp::square},  // as norms and activations have it
    {"Mod", 2, PointwiseOp::div},
    {"Min", 1, PointwiseOp::add},
    {"Max", 1, PointwiseOp::add},
    {"Sum", 1, PointwiseOp::add},
    {"Mean", 1, PointwiseOp::add},
    {"Neg", 1, PointwiseOp::mul},
    {"Abs", 1, PointwiseOp::mul},
    {"Sign", 1, PointwiseOp::mul},
    {"Floor", 1, PointwiseOp::mul},
    {"Ceil", 1, PointwiseOp::mul},
    {"Round", 1, PointwiseOp::mul},
    {"Sqrt", 1, PointwiseOp::div},
    {"Reciprocal", 1, PointwiseOp::div},
    {"Exp", 1, PointwiseOp::exp},
    {"Log", 1, PointwiseOp::exp},
    {"Sin", 1, PointwiseOp::exp},
    {"Cos", 1, PointwiseOp::exp},
    {"Atan", 1, PointwiseOp::exp},
    {"Erf", 1, PointwiseOp::gelu},
    {"Relu", 1, PointwiseOp::relu},
    {"LeakyRelu", 1, PointwiseOp::relu},
    {"PRelu", 2, PointwiseOp::relu},
    {"ThresholdedRelu", 1, PointwiseOp::relu},
    {"Clip", 1, PointwiseOp::relu},
    {"HardSigmoid", 1, PointwiseOp::relu},
    {"HardSwish", 1, PointwiseOp::relu},
    {"Elu", 1, PointwiseOp::exp},
    {"Selu", 1, PointwiseOp::exp},
    {"Celu", 1, PointwiseOp::exp},
    {"Softplus", 1, PointwiseOp::exp},
    {"Softsign", 1, PointwiseOp::div},
    {"Mish", 1, PointwiseOp::tanh},
    {"Sigmoid", 1, PointwiseOp::silu},
    {"Tanh", 1, PointwiseOp::tanh},
    {"Gelu", 1, PointwiseOp::gelu},
    {"FastGelu", 1, PointwiseOp::gelu},
    {"QuickGelu", 1, PointwiseOp::silu},
    {"BiasGelu", 2, PointwiseOp::gelu},
    {"Swish", 1, PointwiseOp::silu},
    {"Not", 1, PointwiseOp::add},
    {"QuantizeLinear", 2, PointwiseOp::div},
    {"DequantizeLinear", 2, PointwiseOp::mul},
});
constexpr auto kComparisons = std::to_array<std::string_view>(
    {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or", "Xor", "IsNaN", "IsInf"});

PointwiseOp kernel_of(std::string_view op) {
  for (const Row& row : kArithmetic)
    if (row.op == op) return row.as;
  return op == "tilecast.Silu" ? PointwiseOp::silu : PointwiseOp::add;
}

// The operator's value on numbers; nothing for those that no shape is ever computed with.
std::optional<double> compute(std::string_view op, std::span<const double> x, bool integer) {
  if (x.size() == 1) {
    if (op == "Neg") return -x[0];
    if (op == "Abs") return std::abs(x[0]);
    if (op == "Floor") return std::floor(x[0]);
    if (op == "Ceil") return std::ceil(x[0]);
    if (op == "Round") return std::nearbyint(x[0]);
    if (op == "Sqrt") return std::sqrt(x[0]);
    if (op == "Reciprocal") return 1 / x[0];
    if (op == "Not") return x[0] == 0;
    if (op == "Exp") return std::exp(x[0]);
    if (op == "Log") return std::log(x[0]);
    if (op == "Relu" || op == "Max" || op == "Min" || op == "Sum") return op == "Relu" ? std::max(0.0, x[0]) : x[0];
    return std::nullopt;
  }
  if (op == "Where") return x.size() == 3 ? std::optional(x[0] != 0 ? x[1] : x[2]) : std::nullopt;
  if (x.size() != 2) return std::nullopt;
  const double a = x[0], b = x[1];
  if (op == "Add" || op == "Sum") return a + b;
  if (op == "Sub") return a - b;
  if (op == "Mul") return a * b;
  if (op == "Div") return integer ? (b == 0 ? 0 : std::trunc(a / b)) : a / b;
  if (op == "Mod") return b == 0 ? 0 : a - b * std::floor(a / b);
  if (op == "Pow") return std::pow(a, b);
  if (op == "Min") return std::min(a, b);
  if (op == "Max") return std::max(a, b);
  if (op == "Equal") return a == b;
  if (op == "Less") return a < b;
  if (op == "LessOrEqual") return a <= b;
  if (op == "Greater") return a > b;
  if (op == "GreaterOrEqual") return a >= b;
  if (op == "And") return a != 0 && b != 0;
  if (op == "Or") return a != 0 || b != 0;
  if (op == "Xor") return (a != 0) != (b != 0);
  return std::nullopt;
}

// Where element `at` of a result of shape `dims` finds its operand of shape `from`.
std::size_t broadcast_index(std::size_t at, const std::vector<Count>& dims, const std::vector<Count>& from) {
  std::size_t index = 0, stride = 1;
  for (std::size_t back = 1; back <= dims.size(); ++back) {
    const auto size = static_cast<std::size_t>(dims[dims.size() - back]);
    if (back <= from.size()) {
      const auto own = static_cast<std::size_t>(from[from.size() - back]);
      if (own > 1) index += (at % size) * stride;
      stride *= own;
    }
    at /= size;
  }
  return index;
}

void fold(OnnxInfer& n, const std::vector<Count>& dims, bool integer) {
  const auto count = static_cast<std::size_t>(*onnx_elements(dims));
  if (count > kMostOnnxContent || n.step.inputs.size() > 3) return;
  std::vector<double> operands(n.step.inputs.size()), result;
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (!n.has(i) || !n.in(i).content) return;
  for (std::size_t at = 0; at < count; ++at) {
    for (std::size_t i = 0; i < operands.size(); ++i)
      operands[i] = (*n.in(i).content)[broadcast_index(at, dims, n.dims(i))];
    const auto value = compute(n.step.op, operands, integer);
    if (!value) return;
    result.push_back(*value);
  }
  n.set_content(0, std::move(result));
}

Result<std::vector<Count>> broadcast_all(const OnnxInfer& n) {
  std::vector<Count> dims = n.dims(0);
  for (std::size_t i = 1; i < n.step.inputs.size(); ++i) {
    if (!n.has(i)) continue;
    auto wider = onnx_broadcast(dims, n.dims(i));
    if (!wider) return wider;
    dims = *std::move(wider);
  }
  return dims;
}

Status infer_pointwise(OnnxInfer& n) {
  auto dims = broadcast_all(n);
  if (!dims) return std::move(dims).error();
  if (auto set = n.set(0, *dims); !set) return set;
  fold(n, *dims, !onnx_type::is_float(n.in(0).type));
  return Ok{};
}

Status infer_comparison(OnnxInfer& n) {
  auto dims = broadcast_all(n);
  if (!dims) return std::move(dims).error();
  if (auto set = n.set(0, *dims, onnx_type::kBool); !set) return set;
  fold(n, *dims, false);
  // Positions down against positions across: how causal masks are made where no Trilu is.
  const std::string_view op = n.step.op;
  const bool order = op == "Less" || op == "LessOrEqual" || op == "Greater" || op == "GreaterOrEqual";
  if (order && n.has(1) && dims->size() >= 2 && (*dims)[dims->size() - 1] > 1 && (*dims)[dims->size() - 2] > 1 &&
      !onnx_type::is_float(n.in(0).type) && n.dims(0) != n.dims(1) && n.in(0).elements() > 1 && n.in(1).elements() > 1)
    n.make_causal(0);
  return Ok{};
}

Status infer_where(OnnxInfer& n) {
  auto dims = broadcast_all(n);
  if (!dims) return std::move(dims).error();
  if (auto set = n.set(0, *dims, n.in(1).type); !set) return set;
  fold(n, *dims, false);
  return Ok{};
}

// The scale has one element, or as many as an axis or block asks; neither changes the shape.
Status infer_quantize(OnnxInfer& n) {
  const bool back = n.step.op == "DequantizeLinear";
  return n.set(0, n.dims(0), back ? n.in(1).type : n.has(2) ? n.in(2).type : onnx_type::kUint8);
}

Status lower_pointwise(OnnxLower& lower, const OnnxStep& step) {
  OwnedWeights weights;
  for (const int id : step.inputs)
    if (id >= 0) lower.own_vector(weights, id);
  return lower.emit(
      step, pointwise_shape(kernel_of(step.op), lower.out(step).elements(), pointwise_inputs(lower, step)), weights);
}

// act(a) * b, made by fusion; `node` is the activation's.
Status lower_gated(OnnxLower& lower, const OnnxStep& step) {
  const OnnxValue& out = lower.out(step);
  GatedActivation shape;
  shape.cols = out.dims.empty() ? 1 : out.dims.back();
  shape.rows = shape.cols > 0 ? out.elements() / shape.cols : 0;
  shape.act = step.op == "tilecast.GatedGelu" ? Gate::gelu : Gate::silu;
  return lower.emit(step, shape);
}

}  // namespace

std::span<const OnnxRule> onnx_pointwise_rules() {
  static const std::vector<OnnxRule> rules = [] {
    std::vector<OnnxRule> list;
    for (const Row& row : kArithmetic) {
      const bool quantize = row.op.ends_with("uantizeLinear");
      list.push_back({row.op, row.inputs, quantize ? infer_quantize : infer_pointwise, lower_pointwise});
    }
    for (const std::string_view op : kComparisons)
      list.push_back({op, op.starts_with("Is") ? std::size_t{1} : 2, infer_comparison, lower_pointwise});
    list.push_back({"Where", 3, infer_where, lower_pointwise});
    list.push_back({"tilecast.Silu", 1, nullptr, lower_pointwise});
    list.push_back({"tilecast.GatedSilu", 2, nullptr, lower_gated});
    list.push_back({"tilecast.GatedGelu", 2, nullptr, lower_gated});
    return list;
  }();
  return rules;
}

}  // namespace tilecast
