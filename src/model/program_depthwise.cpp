// Convolutions with one filter per channel: no products to share, each result is a sum of its taps on the vector pipe.
// cuDNN has kernels for channels-last images and for lines in fp16; else PyTorch's own computes every tap's place and
// compares it with the edges (DepthwiseConv2d.cu), and its gradient divides by the stride as well. That of squares of
// three is compiled for their size, lines go through the one for any.
#include <algorithm>

#include "constants/convolution.h"
#include "kernel/conv2d.h"
#include "kernel/custom.h"
#include "model/program_convolutions.h"

namespace tilecast {
namespace {

using namespace constants;

bool is_narrow_line(const Window& window, const ConvolutionTensors& tensors) {
  return window.axes == 1 && tensors.image->dtype == "fp16";
}

// cuDNN's kernels for lines are compiled for odd numbers of taps; another serves the rest.
bool has_even_taps(const Window& window) { return taps_of(window.shape) % 2 == 0; }

DepthwiseSlots slots_of(const Window& window, const ConvolutionTensors& tensors, bool gradient) {
  const bool wide = element_bytes(tensors.image->dtype) > 2;
  if (tensors.last && gradient) return kDepthwiseLastGradient;
  if (tensors.last) return wide ? kDepthwiseLastWide : kDepthwiseLast;
  if (is_narrow_line(window, tensors)) return has_even_taps(window) ? kDepthwiseEvenLine : kDepthwiseOddLine;
  if (window.axes == 1) return gradient ? kDepthwiseOwnLineGradient : kDepthwiseOwnLine;
  return gradient ? kDepthwiseOwnGradient : kDepthwiseOwn;
}

void add_sums(KernelList& list, const Window& window, const ConvolutionTensors& tensors, bool gradient) {
  constexpr Count kThreads = 128, kEach = 4;
  const ProgramLayout &from = gradient ? *tensors.results : *tensors.image,
                      &to = gradient ? *tensors.image : *tensors.results;
  const auto outputs = static_cast<double>(elements_of(to)), taps = static_cast<double>(taps_of(window.shape));
  const DepthwiseSlots slots = slots_of(window, tensors, gradient);
  Custom shape;
  shape.ctas = std::max<Count>(1, elements_of(to) / (kThreads * kEach)), shape.threads = kThreads;
  shape.vector_ops = 2 * (slots.tap * taps + slots.result) * outputs;
  shape.load_bytes = bytes_of(from), shape.store_bytes = bytes_of(to);
  list.add("depthwise convolution", shape, priced_as(from.dtype).format);
}

// cuDNN's gradient of the filter: sums over parts of the images and then over the parts. In fp32 large filters go
// through products that are nearly all padding.
DepthwiseSlots filter_slots(const Window& window, const ConvolutionTensors& tensors) {
  constexpr Count kLarge = 25;  // taps
  if (is_narrow_line(window, tensors)) return kDepthwiseFilterLine;
  if (element_bytes(tensors.image->dtype) <= 2) return kDepthwiseFilterNarrow;
  return taps_of(window.shape) > kLarge ? kDepthwiseFilterLarge : kDepthwiseFilterWide;
}

void add_filter_sums(KernelList& list, const Window& window, const ConvolutionTensors& tensors) {
  constexpr Count kThreads = 128, kEach = 8;
  const ProgramLayout& gradient = *tensors.results;
  const auto elements = static_cast<double>(elements_of(gradient)), taps = static_cast<double>(taps_of(window.shape));
  const DepthwiseSlots slots = filter_slots(window, tensors);
  Custom shape;
  shape.ctas = std::max<Count>(1, elements_of(gradient) / (kThreads * kEach)), shape.threads = kThreads;
  shape.vector_ops = 2 * (slots.tap * taps + slots.result) * elements;
  shape.load_bytes = bytes_of(*tensors.image) + bytes_of(gradient), shape.store_bytes = 1;
  list.add("depthwise filter gradient", shape, priced_as(gradient.dtype).format);
  list.add_grid("depthwise filter sums", 1, kThreads, 1, 1, kConvolutionSetUp);
}

// PyTorch's: a CTA for every number of the filters, whose warps take an image each and walk over its positions.
void add_own_filter(KernelList& list, const Window& window, const ConvolutionTensors& tensors) {
  constexpr Count kMost = 256, kWarp = 32;
  const ProgramLayout& gradient = *tensors.results;
  const Count images = std::max<Count>(1, gradient.shape[0]), warps = std::min(images, kMost / kWarp);
  const Count positions = elements_of(gradient) / (images * std::max<Count>(1, gradient.shape[1]));
  const auto turns = static_cast<double>(ceil_div(images, warps) * ceil_div(positions, kWarp));
  const auto taps = static_cast<double>(taps_of(window.shape));
  Custom shape;
  shape.ctas = std::max<Count>(1, gradient.shape[1] * taps_of(window.shape)), shape.threads = warps * kWarp;
  shape.load_bytes = bytes_of(*tensors.image) + bytes_of(gradient), shape.store_bytes = 1;
  shape.l2_load_bytes = shape.load_bytes * taps;  // every tap reads both again
  shape.steps = std::max(1.0, turns);
  list.add("depthwise filter gradient", shape, priced_as(gradient.dtype).format);
}

}  // namespace

bool is_depthwise(const Conv2d& s) { return s.groups > 1 && s.groups == s.in_channels; }

void add_depthwise(KernelList& list, const Window& window, const ConvolutionTensors& tensors, ConvBackward direction) {
  if (direction != ConvBackward::weight) return add_sums(list, window, tensors, direction == ConvBackward::data);
  if (tensors.last || is_narrow_line(window, tensors)) add_filter_sums(list, window, tensors);
  else add_own_filter(list, window, tensors);
}

}  // namespace tilecast
