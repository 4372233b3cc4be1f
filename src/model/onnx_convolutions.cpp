// Convolutions, their transposes, and pooling: windows over images.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "kernel/conv2d.h"
#include "kernel/elementwise.h"
#include "kernel/gemm.h"
#include "kernel/reduction.h"
#include "model/onnx_rules.h"

namespace tilecast {
namespace {

// A window along one axis of an image.
struct Window {
  Count size = 0;  // of the input
  Count taps = 1, stride = 1, dilation = 1, before = 0, after = 0;
  Count span() const { return dilation * (taps - 1) + 1; }
};

constexpr Count kMostWindow = 1 << 20;

Count at_or(const std::vector<Count>& list, std::size_t i, Count otherwise) {
  return i < list.size() ? list[i] : otherwise;
}

// Of every axis after batch and channels; `taps` are the filter's.
Result<std::vector<Window>> windows_of(const OnnxNode& node, const std::vector<Count>& image,
                                       const std::vector<Count>& taps) {
  const auto strides = node.integers("strides"), dilations = node.integers("dilations"), pads = node.integers("pads");
  const std::string_view automatic = node.text("auto_pad", "NOTSET");
  std::vector<Window> all;
  for (std::size_t i = 0; i < taps.size(); ++i) {
    Window w{image[i + 2],           taps[i],           at_or(strides, i, 1),
             at_or(dilations, i, 1), at_or(pads, i, 0), at_or(pads, i + taps.size(), 0)};
    if (w.size > kMostDimension) return error(fmt::format("has an impossible size {}", w.size));
    for (const Count v : {w.taps, w.stride, w.dilation})
      if (v < 1 || v > kMostWindow) return error("has an impossible kernel, stride or dilation");
    for (const Count v : {w.before, w.after})
      if (v < 0 || v > kMostWindow) return error(fmt::format("has an impossible padding {}", v));
    if (automatic.starts_with("SAME")) {
      const Count needed = std::max<Count>(0, (ceil_div(w.size, w.stride) - 1) * w.stride + w.span() - w.size);
      w.before = automatic == "SAME_LOWER" ? ceil_div(needed, 2) : needed / 2;
      w.after = needed - w.before;
    } else if (automatic == "VALID") {
      w.before = w.after = 0;
    }
    all.push_back(w);
  }
  return all;
}

Result<Count> results(const Window& w, bool ceil_mode = false) {
  const Count room = w.size + w.before + w.after - w.span();
  if (room < 0)
    return error(fmt::format("its window spans {} positions, but the padded input has {}", w.span(),
                             w.size + w.before + w.after),
                 "check the dimensions that were given");
  Count count = (ceil_mode ? ceil_div(room, w.stride) : room / w.stride) + 1;
  // A last window that would start in the padding after the end is left out.
  if (ceil_mode && (count - 1) * w.stride >= w.size + w.before) --count;
  return count;
}

Status infer_windows(OnnxInfer& n, const std::vector<Window>& windows, Count channels, bool ceil_mode) {
  std::vector<Count> dims = {n.dims(0)[0], channels};
  for (const Window& w : windows) {
    auto count = results(w, ceil_mode);
    if (!count) return std::move(count).error();
    dims.push_back(*count);
  }
  if (auto indices = n.set(1, dims, onnx_type::kInt64); !indices) return indices;
  return n.set(0, std::move(dims));
}

Error no_filter(const std::vector<Count>& image, const std::vector<Count>& filter) {
  return error(fmt::format("a filter of {} does not fit an input of {}", onnx_dims_text(filter), onnx_dims_text(image)),
               "check the dimensions that were given");
}

std::vector<Count> taps_of(const std::vector<Count>& filter) { return {filter.begin() + 2, filter.end()}; }

Count groups_of(const OnnxNode& node) { return std::clamp<Count>(node.integer("group", 1), 1, kMostDimension); }

Status infer_conv(OnnxInfer& n) {
  const std::vector<Count>&image = n.dims(0), &filter = n.dims(1);
  const Count groups = groups_of(n.node());
  if (image.size() < 3 || filter.size() != image.size() || onnx_elements({filter[1], groups}) != image[1] ||
      filter[0] < 1 || filter[0] % groups != 0)
    return no_filter(image, filter);
  auto windows = windows_of(n.node(), image, taps_of(filter));
  if (!windows) return std::move(windows).error();
  return infer_windows(n, *windows, filter[0], false);
}

// Sizes of a product that computes the convolution, whatever the windows.
struct Channels {
  Count batch, in, out, groups, positions;
};
Shape as_product(const Channels& c, Count taps) {
  if (c.groups == 1) {
    Gemm shape;
    shape.m = c.batch * c.positions, shape.n = c.out, shape.k = c.in * taps;
    return shape;
  }
  Bmm shape;
  shape.batch = c.groups, shape.m = c.batch * c.positions, shape.n = c.out / c.groups, shape.k = c.in / c.groups * taps;
  return shape;
}

// The conv2d family has one stride, padding and dilation. A padding it cannot express becomes a larger image; anything
// else it cannot express, including three-dimensional filters, becomes the equivalent product.
std::optional<Conv2d> as_conv2d(const Channels& c, std::vector<Window> w) {
  if (w.size() == 1) w.insert(w.begin(), Window{1, 1, w[0].stride, w[0].dilation, 0, 0});
  if (w.size() != 2 || w[0].stride != w[1].stride || (w[0].dilation != w[1].dilation && w[0].taps > 1 && w[1].taps > 1))
    return std::nullopt;
  const bool even = w[0].before == w[0].after && w[1].before == w[1].after && w[0].before == w[1].before &&
                    w[0].before < w[0].span() && w[1].before < w[1].span();
  Conv2d shape;
  shape.batch = c.batch, shape.in_channels = c.in, shape.out_channels = c.out, shape.groups = c.groups;
  shape.height = w[0].size + (even ? 0 : w[0].before + w[0].after);
  shape.width = w[1].size + (even ? 0 : w[1].before + w[1].after);
  shape.padding = even ? w[0].before : 0;
  if (w[0].taps == w[1].taps) shape.kernel = w[0].taps;
  else shape.kernel_h = w[0].taps, shape.kernel_w = w[1].taps;
  shape.stride = w[0].stride,
  shape.dilation = std::max(w[0].taps > 1 ? w[0].dilation : 1, w[1].taps > 1 ? w[1].dilation : 1);
  return shape;
}

OwnedWeights filter_weights(OnnxLower& lower, const OnnxStep& step) {
  OwnedWeights weights = lower.own_matrix(step.inputs[1]);
  if (step.has(2)) lower.own_vector(weights, step.inputs[2]);
  for (std::size_t i = 3; i < step.inputs.size(); ++i)  // of a folded norm
    if (step.has(i)) lower.own_vector(weights, step.inputs[i]);
  return weights;
}

Status lower_conv(OnnxLower& lower, const OnnxStep& step) {
  const OnnxValue &image = lower.in(step, 0), &filter = lower.in(step, 1), &out = lower.out(step);
  const Channels c{image.dims[0], image.dims[1], out.dims[1], groups_of(*step.node), onnx_elements(out.dims, 2)};
  auto windows = windows_of(*step.node, image.dims, taps_of(filter.dims));
  if (!windows) return std::move(windows).error();
  const OwnedWeights weights = filter_weights(lower, step);
  if (const auto shape = as_conv2d(c, *windows)) return lower.emit(step, *shape, weights);
  return lower.emit(step, as_product(c, onnx_elements(filter.dims, 2)), weights);
}

Status infer_conv_transpose(OnnxInfer& n) {
  const std::vector<Count>&image = n.dims(0), &filter = n.dims(1);
  const Count groups = groups_of(n.node());
  if (image.size() < 3 || filter.size() != image.size() || filter[0] != image[1] || image[1] < 1 ||
      image[1] % groups != 0)
    return no_filter(image, filter);
  auto windows = windows_of(n.node(), image, taps_of(filter));
  if (!windows) return std::move(windows).error();
  const auto channels = onnx_elements({filter[1], groups});
  if (!channels) return no_filter(image, filter);
  const auto given = n.node().integers("output_shape"), extra = n.node().integers("output_padding");
  const std::string_view automatic = n.node().text("auto_pad", "NOTSET");
  std::vector<Count> dims = {image[0], *channels};
  for (std::size_t i = 0; i < windows->size(); ++i) {
    const Window& w = (*windows)[i];
    if (std::abs(at_or(extra, i, 0)) > kMostWindow) return error("has an impossible output_padding");
    Count size = (w.size - 1) * w.stride + at_or(extra, i, 0) + w.span() - w.before - w.after;
    if (automatic.starts_with("SAME")) size = w.size * w.stride;
    if (given.size() == windows->size()) size = given[i];
    dims.push_back(size);
  }
  return n.set(0, std::move(dims));
}

// The gradient of a convolution with respect to its image, which is what it computes.
Status lower_conv_transpose(OnnxLower& lower, const OnnxStep& step) {
  const OnnxValue &image = lower.in(step, 0), &filter = lower.in(step, 1), &out = lower.out(step);
  auto windows = windows_of(*step.node, out.dims, taps_of(filter.dims));
  if (!windows) return std::move(windows).error();
  const Channels c{image.dims[0], out.dims[1], image.dims[1], groups_of(*step.node), onnx_elements(image.dims, 2)};
  const OwnedWeights weights = filter_weights(lower, step);
  auto shape = as_conv2d(c, *windows);
  if (shape && shape->check() && shape->vertical().results() * shape->horizontal().results() == c.positions) {
    shape->backward = ConvBackward::data;
    return lower.emit(step, *shape, weights);
  }
  // Every input position makes a patch of results.
  return lower.emit(step, as_product({c.batch, c.out, c.in * onnx_elements(filter.dims, 2), c.groups, c.positions}, 1),
                    weights);
}

Status infer_pool(OnnxInfer& n) {
  const std::vector<Count> taps = n.node().integers("kernel_shape");
  if (n.dims(0).size() < 3 || taps.size() + 2 != n.dims(0).size())
    return error(fmt::format("has {} window axes for an input of {}", taps.size(), onnx_dims_text(n.dims(0))));
  auto windows = windows_of(n.node(), n.dims(0), taps);
  if (!windows) return std::move(windows).error();
  return infer_windows(n, *windows, n.dims(0)[1], n.node().integer("ceil_mode", 0) != 0);
}

// Windows that do not overlap are rows to reduce; where they do, caches serve the repeats and each element moves once:
// a pointwise kernel over as many elements as input and result have between them.
Status lower_pool(OnnxLower& lower, const OnnxStep& step) {
  const Count in = lower.in(step, 0).elements(), out = lower.out(step).elements();
  const std::vector<Count> taps = step.node->integers("kernel_shape"), strides = step.node->integers("strides");
  bool overlap = false;
  for (std::size_t i = 0; i < taps.size(); ++i) overlap |= at_or(strides, i, 1) < taps[i];
  if (overlap) return lower.emit(step, pointwise_shape(PointwiseOp::relu, std::max<Count>(1, (in + out) / 2)));
  Reduction shape;
  shape.rows = out, shape.cols = std::max<Count>(1, out > 0 ? in / out : 0);
  return lower.emit(step, shape);
}

}  // namespace

std::span<const OnnxRule> onnx_convolution_rules() {
  static const std::vector<OnnxRule> rules = {
      {"Conv", 2, infer_conv, lower_conv},    {"ConvTranspose", 2, infer_conv_transpose, lower_conv_transpose},
      {"MaxPool", 1, infer_pool, lower_pool}, {"AveragePool", 1, infer_pool, lower_pool},
      {"LpPool", 1, infer_pool, lower_pool},
  };
  return rules;
}

}  // namespace tilecast
