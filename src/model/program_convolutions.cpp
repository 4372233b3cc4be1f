// Convolutions as cuDNN runs them: implicit products over channels-last images; images that come channel by channel are
// turned before and after. PyTorch adds a bias by a kernel of its own.
#include <algorithm>
#include <cmath>

#include "constants/program.h"
#include "model/program_rules.h"

namespace tilecast {
namespace {

using constants::DepthwiseSlots;
using constants::kConvolutionSetUp;
using constants::kDepthwiseFilterNarrow;
using constants::kDepthwiseFilterWide;
using constants::kDepthwiseLast;
using constants::kDepthwiseLastGradient;
using constants::kDepthwiseLastWide;
using constants::kDepthwiseOwn;
using constants::kDepthwiseOwnGradient;

// A convolution in any number of dimensions, as the two that the kernel family has.
struct Window {
  Conv2d shape;
  Count depth = 1;   // frames that a result sees, which stand among the channels
  bool unit = true;  // a filter of one tap without steps: a product
};

bool holds_channels_last(const ProgramLayout& image) {
  return image.shape.size() >= 3 && image.strides[1] == 1 && image.strides.back() >= image.shape[1];
}

// An axis without padding of its own that gives as many results.
Count covered(Count results, Count taps, Count stride, Count dilation) {
  return (results - 1) * stride + dilation * (taps - 1) + 1;
}

Count at(const std::vector<Count>& list, std::size_t i, Count otherwise) {
  if (list.empty()) return otherwise;
  return i < list.size() ? list[i] : list.back();
}

// Sizes and steps that a real convolution may have: others would overflow on the way to its kernels.
bool is_sound(const OperatorView& view, const ProgramLayout& image, const ProgramLayout& filter,
              const ProgramLayout& results) {
  constexpr Count kMostStep = Count{1} << 20;
  constexpr double kMostRows = 1e15;
  for (const ProgramLayout* tensor : {&image, &filter, &results})
    if (elements_of(*tensor) == 0) return false;
  for (const std::string_view name : {"stride", "padding", "dilation", "groups"})
    for (const Count step : view.wholes(name))
      if (step < (name == "padding" ? 0 : 1) || step > kMostStep) return false;
  return static_cast<double>(image.shape[0]) * static_cast<double>(elements_of(results)) *
             static_cast<double>(filter.shape[1]) <
         kMostRows * kMostRows;
}

// `image` is the side that the filter slides over, `results` the other; transposed convolutions swap them.
std::optional<Window> window_of(const OperatorView& view, const ProgramLayout& image, const ProgramLayout& filter,
                                const ProgramLayout& results) {
  const std::size_t rank = filter.shape.size();
  if (rank < 3 || rank > 5 || image.shape.size() != rank || results.shape.size() != rank) return std::nullopt;
  if (!is_sound(view, image, filter, results)) return std::nullopt;
  const std::vector<Count> stride = view.wholes("stride"), padding = view.wholes("padding"),
                           dilation = view.wholes("dilation");
  Window window;
  Conv2d& s = window.shape;
  s.groups = std::max<Count>(1, view.whole("groups", 1));
  s.batch = image.shape[0], s.in_channels = image.shape[1], s.out_channels = results.shape[1];
  if (rank == 5) {  // frames: each result sees as many as the filter is deep
    s.batch *= results.shape[2], s.in_channels *= filter.shape[2], window.depth = filter.shape[2];
    if (filter.shape[2] != 1 || at(stride, 0, 1) != 1) window.unit = false;
  }
  const std::size_t w = rank - 1, axes = rank - 2;
  const std::size_t last = axes - 1;
  s.kernel_w = filter.shape[w], s.kernel_h = rank == 3 ? 1 : filter.shape[w - 1];
  const Count step_w = at(stride, last, 1), step_h = rank == 3 ? step_w : at(stride, last - 1, 1);
  const Count pad_w = at(padding, last, 0), pad_h = rank == 3 ? 0 : at(padding, last - 1, 0);
  const Count far_w = at(dilation, last, 1), far_h = rank == 3 ? 1 : at(dilation, last - 1, 1);
  s.stride = std::max(step_w, step_h), s.dilation = std::max(far_w, far_h);
  s.width = image.shape[w], s.height = rank == 3 ? 1 : image.shape[w - 1];
  s.padding = pad_w;
  if (pad_w != pad_h || step_w != step_h || far_w != far_h) {
    s.padding = 0;
    s.width = covered(results.shape[w], s.kernel_w, s.stride, s.dilation);
    s.height = rank == 3 ? 1 : covered(results.shape[w - 1], s.kernel_h, s.stride, s.dilation);
  }
  // Rows of a matrix have to begin at multiples of 16 bytes; channels first, they are an image's positions.
  const double row = static_cast<double>(s.height * s.width) * element_bytes(image.dtype);
  const bool aligned = holds_channels_last(image) || std::fmod(row, 16.0) == 0;
  window.unit =
      window.unit && aligned && s.kernel_w == 1 && s.kernel_h == 1 && s.stride == 1 && pad_w == 0 && pad_h == 0;
  return window;
}

// A tile of 32 channels and as many positions is turned through shared memory, full or not; a filter's positions are
// its taps.
void add_turn(KernelList& list, const ProgramLayout& image) {
  constexpr Count kTile = 32;
  const Count channels = std::max<Count>(1, image.shape[1]);
  const Count positions = std::max<Count>(1, elements_of(image) / (channels * std::max<Count>(1, image.shape[0])));
  const auto filled = [](Count count) {
    return static_cast<double>(round_up(count, kTile)) / static_cast<double>(count);
  };
  const double size = bytes_of(image) * filled(channels) * filled(positions);
  list.add_pass("layout change", size, size, element_bytes(image.dtype), TorchWalk::vectorized, PointwiseOp::copy,
                Manner::turned);
  list.last().workspace = bytes_of(image);
}

// cuDNN multiplies fp32 as tf32 unless it is told otherwise (torch.backends.cudnn.allow_tf32).
std::string_view multiplied_as(std::string_view dtype) { return dtype == "fp32" ? "tf32" : priced_as(dtype).format; }

Count taps_of(const Conv2d& s) { return (s.kernel_h ? s.kernel_h : s.kernel) * (s.kernel_w ? s.kernel_w : s.kernel); }

// One filter a channel: no products to share, each result is a sum of its taps on the vector pipe. cuDNN has kernels
// for channels-last images; else PyTorch's own computes every tap's place and compares it with the edges
// (DepthwiseConv2d.cu), and its gradient divides by the stride as well.
struct Depthwise {
  bool last = false, gradient = false;
};
DepthwiseSlots slots_of(const Depthwise& how, std::string_view dtype) {
  if (!how.last) return how.gradient ? kDepthwiseOwnGradient : kDepthwiseOwn;
  if (how.gradient) return kDepthwiseLastGradient;
  return element_bytes(dtype) > 2 ? kDepthwiseLastWide : kDepthwiseLast;
}

void add_depthwise(KernelList& list, const Window& window, const ProgramLayout& image, const ProgramLayout& results,
                   const Depthwise& how) {
  constexpr Count kThreads = 128, kEach = 4;
  Custom shape;
  const auto outputs = static_cast<double>(elements_of(results)), taps = static_cast<double>(taps_of(window.shape));
  shape.ctas = std::max<Count>(1, elements_of(results) / (kThreads * kEach));
  shape.threads = kThreads;
  const DepthwiseSlots slots = slots_of(how, image.dtype);
  shape.vector_ops = 2 * (slots.tap * taps + slots.result) * outputs;
  shape.load_bytes = bytes_of(image), shape.store_bytes = bytes_of(results);
  list.add("depthwise convolution", shape, priced_as(image.dtype).format);
}

// The gradient of such filters, channels last: cuDNN's, sums over parts of the images and then over the parts.
void add_depthwise_filter_last(KernelList& list, const Window& window, const ProgramLayout& image,
                               const ProgramLayout& gradient) {
  constexpr Count kThreads = 128, kEach = 8;
  const auto elements = static_cast<double>(elements_of(gradient)), taps = static_cast<double>(taps_of(window.shape));
  const DepthwiseSlots slots = element_bytes(image.dtype) > 2 ? kDepthwiseFilterWide : kDepthwiseFilterNarrow;
  Custom shape;
  shape.ctas = std::max<Count>(1, elements_of(gradient) / (kThreads * kEach)), shape.threads = kThreads;
  shape.vector_ops = 2 * (slots.tap * taps + slots.result) * elements;
  shape.load_bytes = bytes_of(image) + bytes_of(gradient), shape.store_bytes = 1;
  list.add("depthwise filter gradient", shape, priced_as(image.dtype).format);
  list.add_grid("depthwise filter sums", 1, kThreads, 1, 1, kConvolutionSetUp);
}

// ... channels first, PyTorch's: a CTA for every number of them, whose warps take an image each and walk over its
// positions.
void add_depthwise_filter(KernelList& list, const Window& window, const ProgramLayout& image,
                          const ProgramLayout& gradient, bool last) {
  if (last) return add_depthwise_filter_last(list, window, image, gradient);
  constexpr Count kMost = 256, kWarp = 32;
  const Count images = std::max<Count>(1, gradient.shape[0]), warps = std::min(images, kMost / kWarp);
  const Count positions = elements_of(gradient) / (images * std::max<Count>(1, gradient.shape[1]));
  const auto turns = static_cast<double>(ceil_div(images, warps) * ceil_div(positions, kWarp));
  const auto taps = static_cast<double>(taps_of(window.shape));
  Custom shape;
  shape.ctas = std::max<Count>(1, gradient.shape[1] * taps_of(window.shape)), shape.threads = warps * kWarp;
  shape.load_bytes = bytes_of(image) + bytes_of(gradient), shape.store_bytes = 1;
  shape.l2_load_bytes = shape.load_bytes * taps;  // every tap reads both again
  shape.steps = std::max(1.0, turns);
  list.add("depthwise filter gradient", shape, priced_as(image.dtype).format);
}

bool is_depthwise(const Conv2d& s) { return s.groups > 1 && s.groups == s.in_channels; }

void add_bias(KernelList& list, const ProgramLayout& out) {
  const double size = bytes_of(out);
  list.add_pass("bias", size, size, element_bytes(out.dtype), TorchWalk::strided);
}

// Inductor keeps images of two axes channels last (torch/_inductor/kernel/conv.py), those of one or three as they come.
bool is_last(const OperatorView& view, const ProgramLayout& image) {
  constexpr std::size_t kImage = 4;  // batch, channels and two axes
  return (view.card().compiled && image.shape.size() == kImage) || holds_channels_last(image);
}

struct Sides {
  const ProgramLayout* image;
  const ProgramLayout* results;
};
// Of a transposed convolution the results are the image: it is the gradient of a plain one.
Sides sides_of(const OperatorView& view, const ProgramLayout& in, const ProgramLayout& out) {
  return view.truth("transposed") ? Sides{&out, &in} : Sides{&in, &out};
}

// cuDNN's fast kernels load 16 bytes of neighbouring channels.
Count channels_at_once(std::string_view dtype) { return dtype == "fp32" ? 4 : 8; }
bool has_few_channels(const Window& window, std::string_view dtype) {
  return window.shape.in_channels / window.depth / window.shape.groups % channels_at_once(dtype) != 0;
}

// Images of fewer are padded and go through kernels of Ampere's instructions that look every position up; their
// products go by the padded channels.
void add_padded(KernelList& list, const Window& window, std::string_view name, std::string_view dtype) {
  const Conv2d& s = window.shape;
  const auto v = s.vertical(), h = s.horizontal();
  const Count channels = round_up(s.in_channels / window.depth, channels_at_once(dtype)) * window.depth;
  const auto results = static_cast<double>(s.batch * v.results() * h.results());
  const auto out = static_cast<double>(s.out_channels);
  constexpr double kTile = 128;
  constexpr Count kThreads = 256;
  Custom shape;
  shape.ctas = std::max<Count>(1, static_cast<Count>(std::ceil(results / kTile) * std::ceil(out / kTile)));
  shape.threads = kThreads, shape.character = Character::product;
  shape.tensor_ops = 2 * results * out * static_cast<double>(channels * v.taps * h.taps);
  const double element = element_bytes(dtype);
  shape.load_bytes = static_cast<double>(s.batch * channels * s.height * s.width) * element;
  shape.store_bytes = results * out * element;
  list.add(name, shape, multiplied_as(dtype)).manner = Manner::few_channels;
}

// A step of the main loop takes 128 bytes of channels of one tap, and a tile as many of the results' channels.
void fill_tiles(Window& window, std::string_view dtype) {
  constexpr Count kWide = 32, kNarrow = 64;
  const Count step = dtype == "fp32" ? kWide : kNarrow;
  Conv2d& s = window.shape;
  if (s.groups > 1) return;  // kernels for groups have tiles of their own
  s.in_channels = round_up(s.in_channels / window.depth, step) * window.depth;
  s.out_channels = round_up(s.out_channels, step);
}

void add_direction(KernelList& list, const Window& window, ConvBackward direction, std::string_view name,
                   std::string_view dtype) {
  if (has_few_channels(window, dtype) && window.shape.groups == 1) return add_padded(list, window, name, dtype);
  Window filled = window;
  fill_tiles(filled, dtype);
  filled.shape.backward = direction;
  list.add_grid("convolution set-up", 1, 32, 1, 1, kConvolutionSetUp);
  ProgramKernel& kernel = list.add(name, filled.shape, multiplied_as(dtype));
  if (direction == ConvBackward::weight && dtype == "fp32") kernel.manner = Manner::tf32_filter_gradient;
}

// One tap and no steps: a product over all positions, image by image where channels come first.
void add_unit(KernelList& list, const Conv2d& s, bool channels_last, ConvBackward direction, std::string_view dtype) {
  const Count positions = s.height * s.width;
  Bmm each;
  each.batch = channels_last ? 1 : s.batch;
  const Count rows = channels_last ? s.batch * positions : positions;
  const bool data = direction == ConvBackward::data, filter = direction == ConvBackward::weight;
  each.m = filter ? s.out_channels : data ? s.in_channels : s.out_channels;
  each.n = filter ? s.in_channels : rows;
  each.k = filter ? rows : data ? s.out_channels : s.in_channels;
  if (!channels_last && !filter) {
    list.add("convolution as product", each, multiplied_as(dtype));
    return;
  }
  Gemm all;
  all.m = filter ? s.out_channels : rows, all.n = filter ? s.in_channels : each.m;
  all.k = filter ? s.batch * positions : each.k;
  list.add("convolution as product", all, multiplied_as(dtype));
}

void lower_convolution(const OperatorView& view, KernelList& list) {
  const ProgramLayout *in = view.tensor("input"), *filter = view.tensor("weight"), *out = view.result();
  if (!in || !filter || !out || elements_of(*out) == 0) return;
  const Sides sides = sides_of(view, *in, *out);
  const auto window = window_of(view, *sides.image, *filter, *sides.results);
  if (!window) return;
  const bool compiled = view.card().compiled, last = is_last(view, *out);
  const bool transposed = view.truth("transposed"), turns = !last && !window->unit;
  if (is_depthwise(window->shape)) {
    add_depthwise(list, *window, *in, *out, {last, false});
  } else {
    const ConvBackward direction = transposed ? ConvBackward::data : ConvBackward::none;
    if (turns && !holds_channels_last(*in)) add_turn(list, *in);
    if (turns) add_turn(list, *filter);
    if (window->unit && window->shape.groups == 1) add_unit(list, window->shape, last, direction, in->dtype);
    else add_direction(list, *window, direction, "convolution", in->dtype);
    if (turns) add_turn(list, *out);
  }
  if (view.tensor("bias") && !compiled) add_bias(list, *out);
}

void lower_convolution_gradients(const OperatorView& view, KernelList& list) {
  const ProgramLayout *gradient = view.tensor("grad_output"), *in = view.tensor("input"),
                      *filter = view.tensor("weight");
  if (!gradient || !in || !filter) return;
  const Sides sides = sides_of(view, *in, *gradient);
  const auto window = window_of(view, *sides.image, *filter, *sides.results);
  if (!window) return;
  const std::vector<Count> mask = view.wholes("output_mask");
  const bool wants_data = at(mask, 0, 1) != 0, wants_filter = mask.size() < 2 || mask[1] != 0,
             wants_bias = mask.size() > 2 && mask[2] != 0;
  const std::string_view dtype = in->dtype;
  const bool plain_unit = window->unit && window->shape.groups == 1, last = is_last(view, *gradient);
  const bool turns = !last && !window->unit, transposed = view.truth("transposed");
  if (is_depthwise(window->shape)) {
    if (wants_data) add_depthwise(list, *window, *gradient, *in, {last, true});
    if (wants_filter) add_depthwise_filter(list, *window, *in, *gradient, last);
  } else {
    if (turns) add_turn(list, *gradient);
    if (turns && wants_filter) add_turn(list, *in);
    if (turns) add_turn(list, *filter);  // read for the data's gradient, or written as its own
    if (turns && wants_data && wants_filter) add_turn(list, *filter);
    const ConvBackward to_data = transposed ? ConvBackward::none : ConvBackward::data;
    if (wants_data && plain_unit) add_unit(list, window->shape, last, to_data, dtype);
    if (wants_data && !plain_unit) add_direction(list, *window, to_data, "data gradient", dtype);
    if (wants_data && turns) add_turn(list, *in);
    if (wants_filter && plain_unit) add_unit(list, window->shape, last, ConvBackward::weight, dtype);
    if (wants_filter && !plain_unit) add_direction(list, *window, ConvBackward::weight, "filter gradient", dtype);
  }
  if (wants_bias)
    add_reduction(list, *gradient, static_cast<double>(gradient->shape[1]), !holds_channels_last(*gradient),
                  view.card());
}

}  // namespace

std::span<const ProgramRule> program_convolution_rules() {
  static const std::vector<ProgramRule> rules = {{"convolution", lower_convolution},
                                                 {"convolution_backward", lower_convolution_gradients},
                                                 {"cudnn_convolution", lower_convolution},
                                                 {"cudnn_convolution_transpose", lower_convolution},
                                                 {"_conv_depthwise2d", lower_convolution}};
  return rules;
}

}  // namespace tilecast
