// Softmax, norms and reductions: operators that look at a whole row before they write.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "kernel/elementwise.h"
#include "kernel/layernorm.h"
#include "kernel/reduction.h"
#include "kernel/rmsnorm.h"
#include "kernel/softmax.h"
#include "model/onnx_rules.h"

namespace tilecast {
namespace {

std::size_t axis_of(const OnnxStep& step, const OnnxValue& value, Count otherwise) {
  const Count axis = step.node->integer("axis", otherwise);
  return static_cast<std::size_t>(
      std::clamp<Count>(axis < 0 ? axis + value.rank() : axis, 0, std::max<Count>(0, value.rank() - 1)));
}

struct Rows {
  Count rows = 0, cols = 0;
};
Rows rows_of(const OnnxValue& value, Count cols) { return {cols > 0 ? value.elements() / cols : 0, cols}; }

Status infer_softmax(OnnxInfer& n) {
  if (n.dims(0).empty()) return error("of a single number");
  if (auto axis = n.axis(n.node().integer("axis", -1), n.dims(0).size()); !axis) return std::move(axis).error();
  return infer_same(n);
}

Status lower_softmax(OnnxLower& lower, const OnnxStep& step) {
  const OnnxValue& x = lower.in(step, 0);
  const Rows r = rows_of(x, x.dims[axis_of(step, x, -1)]);
  Softmax shape;
  shape.rows = r.rows, shape.cols = r.cols;
  return lower.emit(step, shape);
}

// Mean and deviation of LayerNormalization have ones on the axes that were normalised.
Status infer_norm(OnnxInfer& n) {
  if (n.dims(0).empty()) return error("of a single number");
  auto axis = n.axis(n.node().integer("axis", -1), n.dims(0).size());
  if (!axis) return std::move(axis).error();
  std::vector<Count> statistics = n.dims(0);
  std::fill(statistics.begin() + static_cast<std::ptrdiff_t>(*axis), statistics.end(), 1);
  for (std::size_t i = 1; i < 3; ++i)
    if (auto set = n.set(i, statistics, onnx_type::kFloat); !set) return set;
  return infer_same(n);
}

// The sum that was normalised is the fourth result.
Status infer_skip_norm(OnnxInfer& n) {
  if (n.dims(0).empty()) return error("of a single number");
  if (auto sum = n.set(3, n.dims(0)); !sum) return sum;
  return infer_norm(n);
}

Shape norm_shape(bool centred, Rows r) {
  LayerNorm layer;
  layer.rows = r.rows, layer.cols = r.cols;
  RmsNorm rms;
  rms.rows = r.rows, rms.cols = r.cols;
  return centred ? Shape(layer) : Shape(rms);
}

OwnedWeights vectors(OnnxLower& lower, const OnnxStep& step, std::size_t first, std::size_t last) {
  OwnedWeights weights;
  for (std::size_t i = first; i <= last; ++i)
    if (step.has(i)) lower.own_vector(weights, step.inputs[i]);
  return weights;
}

Status lower_norm(OnnxLower& lower, const OnnxStep& step) {
  const OnnxValue& x = lower.in(step, 0);
  const Rows r = rows_of(x, onnx_elements(x.dims, axis_of(step, x, -1)));
  return lower.emit(step, norm_shape(step.op == "LayerNormalization", r), vectors(lower, step, 1, 2));
}

// Engines decide whether the sum and the norm are one kernel.
Status lower_skip_norm(OnnxLower& lower, const OnnxStep& step) {
  const OnnxValue& x = lower.in(step, 0);
  const bool centred = step.op == "SkipLayerNormalization";
  OwnedWeights bias;
  if (step.has(centred ? 4 : 3)) lower.own_vector(bias, step.inputs[centred ? 4 : 3]);
  auto sum = lower.emit_part(step, "add", pointwise_shape(PointwiseOp::add, x.elements(), 2), lower.tensors(step),
                             x.elements(), bias);
  if (!sum) return std::move(sum).error();
  auto out = lower.emit_part(step, "norm", norm_shape(centred, rows_of(x, x.dims.back())), {*sum}, x.elements(),
                             vectors(lower, step, 2, centred ? 3 : 2));
  if (!out) return std::move(out).error();
  lower.bind(step.outputs.front(), *out);
  if (step.outputs.size() > 3 && step.outputs[3] >= 0) lower.bind(step.outputs[3], *sum);
  return Ok{};
}

// Running statistics stay what they are at inference: a scale and a shift.
Status infer_batch_norm(OnnxInfer& n) {
  if (n.dims(0).size() < 2) return error("needs a channel axis");
  for (std::size_t i = 1; i < n.step.outputs.size(); ++i)
    if (auto set = n.set(i, {n.dims(0)[1]}); !set) return set;
  return infer_same(n);
}
Status lower_batch_norm(OnnxLower& lower, const OnnxStep& step) {
  return lower.emit(step, pointwise_shape(PointwiseOp::mul, lower.out(step).elements()), vectors(lower, step, 1, 2));
}

Status infer_channel_norm(OnnxInfer& n) {
  if (n.dims(0).size() < 2) return error("needs a channel axis");
  return infer_same(n);
}
// Every channel, or group of them, of every image is a row.
Status lower_channel_norm(OnnxLower& lower, const OnnxStep& step) {
  const OnnxValue& x = lower.in(step, 0);
  const Count groups = step.op == "InstanceNormalization" ? x.dims[1] : step.node->integer("num_groups", 1);
  const Count rows = std::max<Count>(1, x.dims[0]) * std::clamp<Count>(groups, 1, std::max<Count>(1, x.dims[1]));
  return lower.emit(step, norm_shape(true, {rows, x.elements() / rows}), vectors(lower, step, 1, 2));
}

Status infer_global_pool(OnnxInfer& n) {
  if (n.dims(0).size() < 2) return error("needs a channel axis");
  std::vector<Count> dims = n.dims(0);
  std::fill(dims.begin() + 2, dims.end(), 1);
  return n.set(0, std::move(dims));
}

// Results of a whole reduction, as shape arithmetic uses them.
void fold_reduction(OnnxInfer& n) {
  if (!n.in(0).content || n.in(0).content->empty()) return;
  const std::vector<double>& x = *n.in(0).content;
  const double sum = std::accumulate(x.begin(), x.end(), 0.0);
  const std::string_view op = n.step.op;
  if (op == "ReduceProd") n.set_content(0, {std::accumulate(x.begin(), x.end(), 1.0, std::multiplies<>())});
  else if (op == "ReduceSum") n.set_content(0, {sum});
  else if (op == "ReduceMean") n.set_content(0, {sum / static_cast<double>(x.size())});
  else if (op == "ReduceMax") n.set_content(0, {*std::max_element(x.begin(), x.end())});
  else if (op == "ReduceMin") n.set_content(0, {*std::min_element(x.begin(), x.end())});
}

Status infer_reduce(OnnxInfer& n) {
  const std::vector<Count>& from = n.dims(0);
  auto axes = n.integers(1, "axes");
  if (!axes) return std::move(axes).error();
  const bool keep = n.node().integer("keepdims", 1) != 0;
  std::vector<bool> gone(from.size(), axes->empty() && n.node().integer("noop_with_empty_axes", 0) == 0);
  for (const Count given : *axes) {
    auto axis = n.axis(given, from.size());
    if (!axis) return std::move(axis).error();
    gone[*axis] = true;
  }
  std::vector<Count> dims;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!gone[i]) dims.push_back(from[i]);
    else if (keep) dims.push_back(1);
  }
  const bool all = std::all_of(gone.begin(), gone.end(), [](bool g) { return g; });
  if (auto set = n.set(0, std::move(dims)); !set) return set;
  if (all) fold_reduction(n);
  return Ok{};
}

Status infer_arg(OnnxInfer& n) {
  std::vector<Count> dims = n.dims(0);
  auto axis = n.axis(n.node().integer("axis", 0), dims.size());
  if (!axis) return std::move(axis).error();
  if (n.node().integer("keepdims", 1) != 0) dims[*axis] = 1;
  else dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(*axis));
  return n.set(0, std::move(dims), onnx_type::kInt64);
}

Status infer_top_k(OnnxInfer& n) {
  std::vector<Count> dims = n.dims(0);
  auto axis = n.axis(n.node().integer("axis", -1), dims.size());
  if (!axis) return std::move(axis).error();
  Count k = n.node().integer("k", 1);
  if (n.has(1)) {
    auto given = n.integers(1);
    if (!given) return std::move(given).error();
    if (given->size() != 1) return error("has no single k");
    k = given->front();
  }
  dims[*axis] = k;
  if (auto indices = n.set(1, dims, onnx_type::kInt64); !indices) return indices;
  return n.set(0, std::move(dims));
}

Status lower_reduction(OnnxLower& lower, const OnnxStep& step) {
  const Count in = lower.in(step, 0).elements(), out = lower.out(step).elements();
  if (out == in && step.op != "TopK") return lower.view(step), Ok{};
  Reduction shape;
  shape.rows = out, shape.cols = out > 0 ? std::max<Count>(1, in / out) : 0;
  return lower.emit(step, shape);
}

}  // namespace

std::span<const OnnxRule> onnx_reduction_rules() {
  static const std::vector<OnnxRule> rules = [] {
    std::vector<OnnxRule> list = {
        {"Softmax", 1, infer_softmax, lower_softmax},
        {"LogSoftmax", 1, infer_softmax, lower_softmax},
        {"LayerNormalization", 1, infer_norm, lower_norm},
        {"RMSNormalization", 1, infer_norm, lower_norm},
        {"SimplifiedLayerNormalization", 1, infer_norm, lower_norm},
        {"LpNormalization", 1, infer_norm, lower_norm},
        {"SkipLayerNormalization", 3, infer_skip_norm, lower_skip_norm},
        {"SkipSimplifiedLayerNormalization", 3, infer_skip_norm, lower_skip_norm},
        {"BatchNormalization", 5, infer_batch_norm, lower_batch_norm},
        {"InstanceNormalization", 3, infer_channel_norm, lower_channel_norm},
        {"GroupNormalization", 3, infer_channel_norm, lower_channel_norm},
        {"GlobalAveragePool", 1, infer_global_pool, lower_reduction},
        {"GlobalMaxPool", 1, infer_global_pool, lower_reduction},
        {"ArgMax", 1, infer_arg, lower_reduction},
        {"ArgMin", 1, infer_arg, lower_reduction},
        {"TopK", 1, infer_top_k, lower_reduction},
    };
    for (const char* op : {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
                           "ReduceSumSquare", "ReduceLogSumExp"})
      list.push_back({op, 1, infer_reduce, lower_reduction});
    return list;
  }();
  return rules;
}

}  // namespace tilecast
