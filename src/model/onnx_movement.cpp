// Operators that copy: into another order, together, by index, or into a larger tensor.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernel/copy.h"
#include "kernel/embedding.h"
#include "model/onnx_rules.h"

namespace tilecast {
namespace {

Status infer_concat(OnnxInfer& n) {
  auto axis = n.axis(n.node().integer("axis", 0), n.dims(0).size());
  if (!axis) return std::move(axis).error();
  std::vector<Count> dims = n.dims(0);
  std::optional<std::vector<double>> content;
  if (dims.size() == 1) content.emplace();
  dims[*axis] = 0;
  for (std::size_t i = 0; i < n.step.inputs.size(); ++i) {
    if (!n.has(i)) continue;
    std::vector<Count> other = n.dims(i);
    if (other.size() != dims.size()) return error("joins tensors with different numbers of axes");
    dims[*axis] += other[*axis];
    if (!onnx_elements(dims)) return error("its result would have impossible dimensions");
    other[*axis] = dims[*axis];
    if (other != dims)
      return error(fmt::format("cannot join {} to {}", onnx_dims_text(n.dims(i)), onnx_dims_text(n.dims(0))),
                   "check the dimensions that were given");
    if (!n.in(i).content) content.reset();
    if (content) content->insert(content->end(), n.in(i).content->begin(), n.in(i).content->end());
  }
  if (auto set = n.set(0, std::move(dims)); !set) return set;
  if (content && content->size() <= kMostOnnxContent) n.set_content(0, *std::move(content));
  return Ok{};
}

// A table that indices pick rows from; looked up in every pass, even at positions known beforehand.
bool is_table(const OnnxValue& data) {
  return data.constant && data.origin >= 0 && data.dims.size() == 2 && onnx_type::is_float(data.type);
}

Status infer_gather(OnnxInfer& n) {
  const std::vector<Count>&from = n.dims(0), &index = n.dims(1);
  auto axis = n.axis(n.node().integer("axis", 0), from.size());
  if (!axis) return std::move(axis).error();
  std::vector<Count> dims(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(*axis));
  dims.insert(dims.end(), index.begin(), index.end());
  dims.insert(dims.end(), from.begin() + static_cast<std::ptrdiff_t>(*axis) + 1, from.end());
  if (auto set = n.set(0, std::move(dims)); !set) return set;
  if (is_table(n.in(0)) && *axis == 0) n.make_variable(0);
  if (from.size() != 1 || !n.in(0).content || !n.in(1).content) return Ok{};
  std::vector<double> content;
  for (const double at : *n.in(1).content) {
    const double i = at < 0 ? at + onnx_real(from[0]) : at;
    if (!(i >= 0 && i < onnx_real(from[0]))) return error(fmt::format("index {} of {} elements", at, from[0]));
    content.push_back((*n.in(0).content)[static_cast<std::size_t>(i)]);
  }
  n.set_content(0, std::move(content));
  return Ok{};
}

Status infer_gather_nd(OnnxInfer& n) {
  const std::vector<Count>&from = n.dims(0), &index = n.dims(1);
  const Count batch = n.node().integer("batch_dims", 0);
  if (index.empty() || batch < 0 || batch >= static_cast<Count>(index.size()) ||
      index.back() + batch > static_cast<Count>(from.size()) || index.back() < 0)
    return error("has indices that do not fit its data");
  std::vector<Count> dims(index.begin(), index.end() - 1);
  dims.insert(dims.end(), from.begin() + static_cast<std::ptrdiff_t>(batch + index.back()), from.end());
  return n.set(0, std::move(dims));
}

Status infer_gather_elements(OnnxInfer& n) { return n.set(0, n.dims(1)); }

Status lower_gather(OnnxLower& lower, const OnnxStep& step) {
  const OnnxValue& data = lower.in(step, 0);
  const Count axis = step.node->integer("axis", 0);
  if (step.op == "Gather" && data.constant && data.dims.size() == 2 && axis == 0 && onnx_type::is_float(data.type)) {
    Embedding shape;
    shape.vocab = data.dims[0], shape.cols = data.dims[1];
    shape.tokens = lower.in(step, 1).elements();
    OwnedWeights weights = lower.own_matrix(step.inputs[0]);
    weights.table = true;
    return lower.emit(step, shape, weights);
  }
  // One index picks a part where it stands, as a slice does.
  if (step.op == "Gather" && lower.in(step, 1).elements() == 1) return lower.view(step), Ok{};
  OwnedWeights weights;
  lower.own_vector(weights, step.inputs[0]);
  Copy shape;
  shape.elements = lower.out(step).elements();
  return lower.emit(step, shape, weights);
}

Status infer_transpose(OnnxInfer& n) {
  const std::vector<Count>& from = n.dims(0);
  std::vector<Count> perm = n.node().integers("perm");
  if (perm.empty())
    for (std::size_t i = 0; i < from.size(); ++i) perm.insert(perm.begin(), static_cast<Count>(i));
  std::vector<bool> used(from.size(), false);
  std::vector<Count> dims, strides;
  if (perm.size() != from.size()) return error("permutes more or fewer axes than there are");
  for (const Count p : perm) {
    auto axis = n.axis(p, from.size());
    if (!axis) return std::move(axis).error();
    if (used[*axis]) return error(fmt::format("uses axis {} twice", p));
    used[*axis] = true;
    dims.push_back(from[*axis]);
    strides.push_back(onnx_strides(from)[*axis]);
  }
  if (auto set = n.set(0, dims); !set) return set;
  if (n.in(0).content) n.set_content(0, onnx_strided(*n.in(0).content, 0, dims, strides));
  return Ok{};
}

Status lower_transpose(OnnxLower& lower, const OnnxStep& step) {
  const OnnxValue& from = lower.in(step, 0);
  std::vector<Count> perm = step.node->integers("perm");
  if (perm.empty())
    for (std::size_t i = 0; i < from.dims.size(); ++i) perm.insert(perm.begin(), static_cast<Count>(i));
  // Axes of one element can stand anywhere: what remains must change its order to cost something.
  std::vector<Count> moved;
  for (const Count p : perm) {
    const Count axis = p < 0 ? p + from.rank() : p;
    if (from.dims[static_cast<std::size_t>(axis)] != 1) moved.push_back(axis);
  }
  if (std::is_sorted(moved.begin(), moved.end())) return lower.view(step), Ok{};
  Copy shape;
  const Count last = *std::max_element(moved.begin(), moved.end());
  if (moved.back() == last) {  // whole runs stay together
    shape.elements = from.elements();
  } else {
    shape.cols = from.dims[static_cast<std::size_t>(last)];
    shape.rows = shape.cols > 0 ? from.elements() / shape.cols : 0;
    shape.transpose = true;
  }
  return lower.emit(step, shape);
}

Status infer_expand(OnnxInfer& n) {
  auto wanted = n.integers(1);
  if (!wanted) return std::move(wanted).error();
  auto dims = onnx_broadcast(n.dims(0), *wanted);
  if (!dims) return std::move(dims).error();
  if (auto set = n.set(0, *dims); !set) return set;
  const Count count = *onnx_elements(*dims);
  if (n.in(0).content && n.in(0).content->size() == 1 && count <= static_cast<Count>(kMostOnnxContent))
    n.set_content(0, std::vector<double>(static_cast<std::size_t>(count), n.in(0).content->front()));
  return Ok{};
}

Status infer_tile(OnnxInfer& n) {
  auto times = n.integers(1);
  if (!times) return std::move(times).error();
  std::vector<Count> dims = n.dims(0);
  if (times->size() != dims.size()) return error("repeats more or fewer axes than there are");
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if ((*times)[i] < 0 || (*times)[i] > kMostDimension) return error(fmt::format("repeats {} times", (*times)[i]));
    const auto grown = onnx_elements({dims[i], (*times)[i]});
    if (!grown) return error("its result would have impossible dimensions");
    dims[i] = *grown;
  }
  return n.set(0, std::move(dims));
}

Status infer_constant_of_shape(OnnxInfer& n) {
  auto dims = n.integers(0);
  if (!dims) return std::move(dims).error();
  const OnnxAttribute* value = n.node().find("value");
  const bool given = value && value->tensor;
  if (auto set = n.set(0, *dims, given ? value->tensor->type : onnx_type::kFloat); !set) return set;
  const Count count = *onnx_elements(*dims);
  const double fill =
      given && value->tensor->content && !value->tensor->content->empty() ? value->tensor->content->front() : 0;
  if (count <= static_cast<Count>(kMostOnnxContent))
    n.set_content(0, std::vector<double>(static_cast<std::size_t>(count), fill));
  return Ok{};
}

Status infer_range(OnnxInfer& n) {
  for (std::size_t i = 0; i < 3; ++i)
    if (!n.in(i).content || n.in(i).content->size() != 1)
      return error(fmt::format("needs the value of '{}', which depends on the data", n.in(i).name));
  const double start = n.in(0).content->front(), end = n.in(1).content->front(), step = n.in(2).content->front();
  const double count = std::ceil((end - start) / step);
  if (step == 0 || !(count < 1e15)) return error("would never end");
  const Count whole = static_cast<Count>(std::max(0.0, count));
  if (auto set = n.set(0, {whole}); !set) return set;
  if (whole > static_cast<Count>(kMostOnnxContent)) return Ok{};
  std::vector<double> content;
  for (Count i = 0; i < whole; ++i) content.push_back(start + onnx_real(i) * step);
  n.set_content(0, std::move(content));
  return Ok{};
}

Status infer_pad(OnnxInfer& n) {
  auto pads = n.integers(1, "pads");
  if (!pads) return std::move(pads).error();
  std::vector<Count> dims = n.dims(0), axes;
  if (n.has(3)) {
    auto given = n.integers(3);
    if (!given) return std::move(given).error();
    axes = *std::move(given);
  } else {
    for (std::size_t i = 0; i < dims.size(); ++i) axes.push_back(static_cast<Count>(i));
  }
  if (pads->size() != 2 * axes.size()) return error("has not two paddings an axis");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    auto axis = n.axis(axes[i], dims.size());
    if (!axis) return std::move(axis).error();
    for (const Count pad : {(*pads)[i], (*pads)[i + axes.size()]}) {
      if (std::abs(pad) > kMostDimension) return error(fmt::format("pads by {}", pad));
      dims[*axis] += pad;
    }
  }
  return n.set(0, std::move(dims));
}

// Sizes, or scales: the last two inputs, or an attribute in the oldest sets.
Status infer_resize(OnnxInfer& n) {
  const bool upsample = n.step.op == "Upsample" || n.opset == 10;
  const std::size_t scales_at = upsample ? 1 : 2;
  std::vector<Count> dims = n.dims(0);
  if (!upsample && n.has(3)) {
    auto sizes = n.integers(3);
    if (!sizes) return std::move(sizes).error();
    if (sizes->size() != dims.size()) return error("has not one size an axis");
    return n.set(0, *std::move(sizes));
  }
  std::vector<double> scales;
  if (n.has(scales_at) && n.in(scales_at).content) scales = *n.in(scales_at).content;
  else if (const OnnxAttribute* a = n.node().find("scales")) scales = a->floats;
  if (scales.size() != dims.size()) return error("has not one scale an axis that is known beforehand");
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const double scaled = std::floor(onnx_real(dims[i]) * scales[i]);
    if (!(scaled >= 0 && scaled < 1e12)) return error(fmt::format("scales by {}", scales[i]));
    dims[i] = static_cast<Count>(scaled);
  }
  return n.set(0, std::move(dims));
}

// Blocks of an image to channels and back.
Status infer_blocks(OnnxInfer& n) {
  const Count b = n.node().integer("blocksize", 1);
  std::vector<Count> d = n.dims(0);
  const bool out = n.step.op == "DepthToSpace";
  if (b < 1 || b > 4096 || d.size() != 4 || (out ? d[1] % (b * b) != 0 : d[2] % b != 0 || d[3] % b != 0))
    return error(fmt::format("cannot cut {} in blocks of {}", onnx_dims_text(d), b));
  if (out) return n.set(0, {d[0], d[1] / (b * b), d[2] * b, d[3] * b});
  return n.set(0, {d[0], d[1] * b * b, d[2] / b, d[3] / b});
}

Status infer_trilu(OnnxInfer& n) {
  if (auto set = n.set(0, n.dims(0)); !set) return set;
  n.make_causal(0);
  return Ok{};
}

Status infer_one_hot(OnnxInfer& n) {
  auto depth = n.integers(1);
  if (!depth) return std::move(depth).error();
  if (depth->size() != 1) return error("has no single depth");
  std::vector<Count> dims = n.dims(0);
  auto axis = n.axis(n.node().integer("axis", -1), dims.size() + 1);
  if (!axis) return std::move(axis).error();
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(*axis), depth->front());
  return n.set(0, std::move(dims), n.in(2).type);
}

Status lower_copy(OnnxLower& lower, const OnnxStep& step) {
  OwnedWeights weights;
  for (const int id : step.inputs)
    if (id >= 0) lower.own_vector(weights, id);
  const OnnxValue& out = lower.out(step);
  // A part that already is the whole needs no copy.
  if (step.op == "Expand" && out.elements() == lower.in(step, 0).elements()) return lower.view(step), Ok{};
  Copy shape;
  shape.elements = out.elements();
  return lower.emit(step, shape, weights);
}

}  // namespace

std::span<const OnnxRule> onnx_movement_rules() {
  static const std::vector<OnnxRule> rules = {
      {"Concat", 1, infer_concat, lower_copy},
      {"Gather", 2, infer_gather, lower_gather},
      {"GatherElements", 2, infer_gather_elements, lower_gather},
      {"GatherND", 2, infer_gather_nd, lower_gather},
      {"Transpose", 1, infer_transpose, lower_transpose},
      {"Expand", 2, infer_expand, lower_copy},
      {"Tile", 2, infer_tile, lower_copy},
      {"ConstantOfShape", 1, infer_constant_of_shape, lower_copy},
      {"Range", 3, infer_range, lower_copy},
      {"Pad", 1, infer_pad, lower_copy},
      {"Resize", 1, infer_resize, lower_copy},
      {"Upsample", 1, infer_resize, lower_copy},
      {"DepthToSpace", 1, infer_blocks, lower_copy},
      {"SpaceToDepth", 1, infer_blocks, lower_copy},
      {"Trilu", 1, infer_trilu, lower_copy},
      {"CumSum", 2, infer_same, lower_copy},
      {"ScatterND", 3, infer_same, lower_copy},
      {"ScatterElements", 3, infer_same, lower_copy},
      {"OneHot", 3, infer_one_hot, lower_copy},
      {"EyeLike", 1, infer_same, lower_copy},
  };
  return rules;
}

}  // namespace tilecast
