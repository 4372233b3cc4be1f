#include "model/onnx_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

namespace tilecast {
namespace {

// A number as a dimension or an index: INT64_MAX, which slices use for "to the end", has no double of its own.
Count whole(double value) {
  constexpr double kMost = 4e18;
  return std::isnan(value) ? 0 : static_cast<Count>(std::clamp(value, -kMost, kMost));
}

}  // namespace

Result<std::vector<Count>> OnnxInfer::integers(std::size_t i) const {
  if (!has(i)) return error(fmt::format("lacks input {}", i));
  const OnnxValue& value = in(i);
  if (!value.content)
    return error(fmt::format("needs the values of '{}', which {}", value.name,
                             value.constant ? "are not in the file or too many" : "depend on the data"),
                 "export with fixed shapes, or run onnx-simplifier");
  std::vector<Count> list;
  for (const double v : *value.content) list.push_back(whole(v));
  return list;
}

Result<std::vector<Count>> OnnxInfer::integers(std::size_t i, std::string_view attribute) const {
  return has(i) ? integers(i) : node().integers(attribute);
}

Result<std::size_t> OnnxInfer::axis(Count given, std::size_t rank) const {
  const Count n = static_cast<Count>(rank), from_front = given < 0 ? given + n : given;
  if (from_front < 0 || from_front >= n) return error(fmt::format("axis {} of a tensor with {} axes", given, rank));
  return static_cast<std::size_t>(from_front);
}

Status OnnxInfer::set(std::size_t i, std::vector<Count> dims, int type) {
  if (i >= step.outputs.size() || step.outputs[i] < 0) return Ok{};
  if (!onnx_elements(dims)) return error("its result would have impossible dimensions " + onnx_dims_text(dims));
  OnnxValue& value = net_.value(step.outputs[i]);
  value.dims = std::move(dims);
  value.type = type != 0 ? type : has(0) ? in(0).type : value.type;
  value.known = true;
  return Ok{};
}

void OnnxInfer::set_content(std::size_t i, std::vector<double> content) {
  if (i >= step.outputs.size() || step.outputs[i] < 0) return;
  OnnxValue& value = net_.value(step.outputs[i]);
  if (static_cast<Count>(content.size()) == value.elements()) value.content = std::move(content);
}

void OnnxInfer::make_variable(std::size_t i) {
  if (i < step.outputs.size() && step.outputs[i] >= 0) net_.value(step.outputs[i]).constant = false;
}
void OnnxInfer::make_causal(std::size_t i) {
  if (i < step.outputs.size() && step.outputs[i] >= 0) net_.value(step.outputs[i]).causal = true;
}

const OnnxRule* find_onnx_rule(std::string_view op) {
  static const std::unordered_map<std::string_view, const OnnxRule*> all = [] {
    std::unordered_map<std::string_view, const OnnxRule*> map;
    for (const auto& rules : {onnx_pointwise_rules(), onnx_view_rules(), onnx_movement_rules(), onnx_reduction_rules(),
                              onnx_product_rules(), onnx_convolution_rules(), onnx_attention_rules()})
      for (const OnnxRule& rule : rules) map.emplace(rule.op, &rule);
    return map;
  }();
  const auto found = all.find(op);
  return found == all.end() ? nullptr : found->second;
}

bool is_among(const OnnxRule* rule, std::span<const OnnxRule> rules) {
  return rule && rule >= rules.data() && rule < rules.data() + rules.size();
}

Result<std::vector<Count>> onnx_broadcast(const std::vector<Count>& a, const std::vector<Count>& b) {
  std::vector<Count> dims(std::max(a.size(), b.size()), 1);
  for (std::size_t back = 1; back <= dims.size(); ++back) {
    const Count x = back <= a.size() ? a[a.size() - back] : 1, y = back <= b.size() ? b[b.size() - back] : 1;
    if (x != y && x != 1 && y != 1)
      return error(fmt::format("shapes {} and {} do not fit together", onnx_dims_text(a), onnx_dims_text(b)),
                   "check the dimensions that were given");
    dims[dims.size() - back] = x == 1 ? y : x;
  }
  return dims;
}

std::vector<Count> onnx_strides(const std::vector<Count>& dims) {
  std::vector<Count> strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

std::vector<double> onnx_strided(const std::vector<double>& content, Count offset, const std::vector<Count>& dims,
                                 const std::vector<Count>& strides) {
  std::vector<double> picked;
  const Count count = onnx_elements(dims).value_or(0);
  for (Count at = 0; at < count; ++at) {
    Count from = offset, rest = at;
    for (std::size_t i = dims.size(); i-- > 0; rest /= dims[i]) from += rest % dims[i] * strides[i];
    picked.push_back(content[static_cast<std::size_t>(from)]);
  }
  return picked;
}

Status infer_same(OnnxInfer& n) { return n.set(0, n.dims(0)); }

Count onnx_elements(const std::vector<Count>& dims, std::size_t from) {
  return std::accumulate(dims.begin() + static_cast<std::ptrdiff_t>(from), dims.end(), Count{1}, std::multiplies<>());
}

double onnx_real(Count n) { return static_cast<double>(n); }

Elementwise pointwise_shape(PointwiseOp op, Count elements, Count inputs) {
  Elementwise shape;
  shape.op = op, shape.elements = elements, shape.inputs = inputs;
  return shape;
}

Count pointwise_inputs(const OnnxLower& lower, const OnnxStep& step) {
  double read = 0;
  for (std::size_t i = 0; i < step.inputs.size(); ++i)
    if (step.has(i)) read += onnx_real(lower.in(step, i).elements());
  const double written = std::max(1.0, onnx_real(lower.out(step).elements()));
  return std::clamp<Count>(static_cast<Count>(std::lround(std::min(read / written, 64.0))), 1, 6);
}

}  // namespace tilecast
