// Operators that move nothing: other shapes of the same elements, parts of a tensor, and what is known from shapes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/onnx_rules.h"

namespace tilecast {
namespace {

void keep_content(OnnxInfer& n) {
  if (n.in(0).content) n.set_content(0, *n.in(0).content);
}

Status set_view(OnnxInfer& n, std::vector<Count> dims) {
  if (auto set = n.set(0, std::move(dims)); !set) return set;
  keep_content(n);
  return Ok{};
}

Status infer_identity(OnnxInfer& n) { return set_view(n, n.dims(0)); }

Status infer_dropout(OnnxInfer& n) {
  if (auto mask = n.set(1, n.dims(0), onnx_type::kBool); !mask) return mask;
  return set_view(n, n.dims(0));
}

Status infer_cast(OnnxInfer& n) {
  const int type = n.step.op == "CastLike" && n.has(1)
                       ? n.in(1).type
                       : static_cast<int>(std::clamp<Count>(n.node().integer("to", 1), 1, 1000));
  if (auto set = n.set(0, n.dims(0), type); !set) return set;
  if (!n.in(0).content) return Ok{};
  std::vector<double> content = *n.in(0).content;
  if (!onnx_type::is_float(type))
    for (double& value : content) value = type == onnx_type::kBool ? value != 0 : std::trunc(value);
  n.set_content(0, std::move(content));
  return Ok{};
}

// 0 keeps the input's dimension, -1 takes what is left.
Status infer_reshape(OnnxInfer& n) {
  auto wanted = n.integers(1, "shape");
  if (!wanted) return std::move(wanted).error();
  const std::vector<Count>& from = n.dims(0);
  std::vector<Count> dims;
  Count known = 1;
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < wanted->size(); ++i) {
    Count d = (*wanted)[i];
    if (d == 0 && n.node().integer("allowzero", 0) == 0) {
      if (i >= from.size()) return error(fmt::format("keeps axis {} of {}", i, onnx_dims_text(from)));
      d = from[i];
    }
    if (d == -1 && !open) open = i, d = 1;
    dims.push_back(d);
    if (!onnx_elements(dims)) return error("reshapes to the impossible " + onnx_dims_text(*wanted));
    known = *onnx_elements(dims);
  }
  const Count all = *onnx_elements(from);
  if (open) dims[*open] = known > 0 ? all / known : 0;
  if (onnx_elements(dims) != all)
    return error(fmt::format("{} cannot become {}", onnx_dims_text(from), onnx_dims_text(*wanted)),
                 "check the dimensions that were given");
  return set_view(n, std::move(dims));
}

Status infer_flatten(OnnxInfer& n) {
  const std::vector<Count>& from = n.dims(0);
  const Count rank = static_cast<Count>(from.size());
  Count axis = n.node().integer("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) return error(fmt::format("axis {} of {}", axis, onnx_dims_text(from)));
  Count rows = 1, cols = 1;
  for (Count i = 0; i < rank; ++i) (i < axis ? rows : cols) *= from[static_cast<std::size_t>(i)];
  return set_view(n, {rows, cols});
}

// The axes that an input or attribute names, as marks.
Result<std::vector<bool>> marked_axes(const OnnxInfer& n, std::size_t rank) {
  auto axes = n.integers(1, "axes");
  if (!axes) return std::move(axes).error();
  std::vector<bool> marks(rank, false);
  for (const Count given : *axes) {
    auto axis = n.axis(given, rank);
    if (!axis) return std::move(axis).error();
    marks[*axis] = true;
  }
  return marks;
}

Status infer_squeeze(OnnxInfer& n) {
  const std::vector<Count>& from = n.dims(0);
  auto marks = marked_axes(n, from.size());
  if (!marks) return std::move(marks).error();
  const bool all = std::none_of(marks->begin(), marks->end(), [](bool m) { return m; });
  std::vector<Count> dims;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if ((*marks)[i] && from[i] != 1) return error(fmt::format("axis {} of {} is not 1", i, onnx_dims_text(from)));
    if (!(*marks)[i] && !(all && from[i] == 1)) dims.push_back(from[i]);
  }
  return set_view(n, std::move(dims));
}

Status infer_unsqueeze(OnnxInfer& n) {
  auto axes = n.integers(1, "axes");
  if (!axes) return std::move(axes).error();
  constexpr std::size_t kMostRank = 64;
  const std::size_t rank = n.dims(0).size() + axes->size();
  if (rank > kMostRank) return error(fmt::format("makes a tensor of {} axes", rank));
  auto marks = marked_axes(n, rank);
  if (!marks) return std::move(marks).error();
  if (std::count(marks->begin(), marks->end(), true) != static_cast<std::ptrdiff_t>(axes->size()))
    return error("names an axis twice");
  std::vector<Count> dims;
  std::size_t next = 0;
  for (std::size_t i = 0; i < rank; ++i) dims.push_back((*marks)[i] ? 1 : n.dims(0)[next++]);
  return set_view(n, std::move(dims));
}

// One axis of a Slice: `end` is clamped, so INT64_MAX means all.
struct Range {
  Count start = 0, end = 0, step = 1;
  Count count() const {
    return step > 0 ? std::max<Count>(0, (end - start + step - 1) / step)
                    : std::max<Count>(0, (start - end - step - 1) / -step);
  }
};
Range clamp_range(Range r, Count size) {
  const bool down = r.step < 0;
  if (r.start < 0) r.start += size;
  if (r.end < 0 && r.end > -kMostDimension) r.end += size;
  r.start = std::clamp<Count>(r.start, 0, down ? std::max<Count>(0, size - 1) : size);
  r.end = std::clamp<Count>(r.end, down ? -1 : 0, size);
  return r;
}

Status infer_slice(OnnxInfer& n) {
  const std::vector<Count>& from = n.dims(0);
  auto starts = n.integers(1, "starts"), ends = n.integers(2, "ends"), axes = n.integers(3, "axes");
  auto steps = n.has(4) ? n.integers(4) : std::vector<Count>{};
  for (auto* list : {&starts, &ends, &axes, &steps})
    if (!*list) return std::move(*list).error();
  if (starts->size() != ends->size() || (!axes->empty() && axes->size() != starts->size()) ||
      (!steps->empty() && steps->size() != starts->size()))
    return error("has starts, ends, axes and steps of different lengths");
  std::vector<Count> dims = from, strides = onnx_strides(from);
  std::vector<bool> cut(from.size(), false);
  Count offset = 0;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    auto axis = n.axis(axes->empty() ? static_cast<Count>(i) : (*axes)[i], from.size());
    if (!axis) return std::move(axis).error();
    const Count step = steps->empty() ? 1 : (*steps)[i];
    if (step == 0 || std::abs(step) > kMostDimension) return error(fmt::format("steps by {}", step));
    if (cut[*axis]) return error(fmt::format("cuts axis {} twice", *axis));
    cut[*axis] = true;
    const Range range = clamp_range({(*starts)[i], (*ends)[i], step}, from[*axis]);
    dims[*axis] = range.count();
    if (!n.in(0).content) continue;
    offset += range.start * strides[*axis];
    strides[*axis] *= range.step;
  }
  if (auto set = n.set(0, dims); !set) return set;
  if (n.in(0).content) n.set_content(0, onnx_strided(*n.in(0).content, offset, dims, strides));
  return Ok{};
}

Status infer_split(OnnxInfer& n) {
  auto axis = n.axis(n.node().integer("axis", 0), n.dims(0).size());
  if (!axis) return std::move(axis).error();
  auto sizes = n.integers(1, "split");
  if (!sizes) return std::move(sizes).error();
  const Count whole = n.dims(0)[*axis], parts = static_cast<Count>(n.step.outputs.size());
  if (sizes->empty())
    for (Count i = 0, each = ceil_div(whole, parts); i < parts; ++i)
      sizes->push_back(std::clamp<Count>(whole - i * each, 0, each));
  Count start = 0;
  for (std::size_t i = 0; i < n.step.outputs.size(); ++i) {
    const Count size = i < sizes->size() ? (*sizes)[i] : -1;
    if (size < 0 || start + size > whole)
      return error(fmt::format("cannot cut axis {} of {} so", *axis, onnx_dims_text(n.dims(0))));
    std::vector<Count> dims = n.dims(0);
    dims[*axis] = size;
    if (auto set = n.set(i, std::move(dims)); !set) return set;
    if (n.in(0).content && n.dims(0).size() == 1) {
      const auto from = n.in(0).content->begin() + start;
      n.set_content(i, std::vector<double>(from, from + size));
    }
    start += size;
  }
  return Ok{};
}

Status infer_shape(OnnxInfer& n) {
  const std::vector<Count>& from = n.dims(0);
  const Count rank = static_cast<Count>(from.size());
  const Range r = clamp_range({n.node().integer("start", 0), n.node().integer("end", rank), 1}, rank);
  if (auto set = n.set(0, {r.count()}, onnx_type::kInt64); !set) return set;
  std::vector<double> content;
  for (Count i = 0; i < r.count(); ++i) content.push_back(onnx_real(from[static_cast<std::size_t>(r.start + i)]));
  n.set_content(0, std::move(content));
  return Ok{};
}

Status infer_size(OnnxInfer& n) {
  if (auto set = n.set(0, {}, onnx_type::kInt64); !set) return set;
  n.set_content(0, {onnx_real(n.in(0).elements())});
  return Ok{};
}

Status infer_constant(OnnxInfer& n) {
  for (const OnnxAttribute& a : n.node().attributes) {
    std::vector<Count> dims;
    std::optional<std::vector<double>> content;
    int type = onnx_type::kInt64;
    if (a.tensor) dims = a.tensor->dims, type = a.tensor->type, content = a.tensor->content;
    else if (a.name == "value_int") content = std::vector<double>{onnx_real(a.i)};
    else if (a.name == "value_float") content = std::vector<double>{a.f}, type = onnx_type::kFloat;
    else if (a.name == "value_ints") content = std::vector<double>(a.ints.begin(), a.ints.end());
    else if (a.name == "value_floats") content = a.floats, type = onnx_type::kFloat;
    else continue;
    if (a.name.ends_with("s")) dims = {static_cast<Count>(content->size())};
    if (content && content->size() > kMostOnnxContent) return error("holds a list that is too long to be a shape");
    if (auto set = n.set(0, std::move(dims), type); !set) return set;
    if (content) n.set_content(0, *std::move(content));
    if (a.tensor && is_triangular(*a.tensor)) n.make_causal(0);
    return Ok{};
  }
  return error("holds no tensor or number");
}

}  // namespace

std::span<const OnnxRule> onnx_view_rules() {
  static const std::vector<OnnxRule> rules = {
      {"Identity", 1, infer_identity}, {"Dropout", 1, infer_dropout},
      {"Cast", 1, infer_cast},         {"CastLike", 2, infer_cast},
      {"Reshape", 1, infer_reshape},   {"Flatten", 1, infer_flatten},
      {"Squeeze", 1, infer_squeeze},   {"Unsqueeze", 1, infer_unsqueeze},
      {"Slice", 1, infer_slice},       {"Split", 1, infer_split},
      {"Shape", 1, infer_shape},       {"Size", 1, infer_size},
      {"Constant", 0, infer_constant}, {"tilecast.View", 1},
  };
  return rules;
}

}  // namespace tilecast
