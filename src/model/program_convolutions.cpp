// Convolutions as cuDNN runs them: implicit products over channels-last images; channels-first images are converted
// before and after. PyTorch adds a bias with a separate kernel.
#include "model/program_convolutions.h"

#include <algorithm>
#include <cmath>

#include "constants/convolution.h"
#include "kernel/custom.h"
#include "kernel/elementwise.h"
#include "kernel/gemm.h"

namespace tilecast {
namespace {

using constants::kConvolutionSetUp;
using constants::kFewChannels;
using constants::kFewChannelsSmall;

void add_bias(KernelList& list, const ProgramLayout& out) {
  const double size = bytes_of(out);
  list.add_pass("bias", size, size, element_bytes(out.dtype), TorchWalk::strided);
}

// Filters that a model keeps channels first are converted at every step, with the images.
void add_filter_copy(KernelList& list, const ProgramLayout& filter) {
  const double size = bytes_of(filter);
  list.add_pass("filter turned", size, size, element_bytes(filter.dtype), TorchWalk::strided, PointwiseOp::copy);
}

// Inductor turns images of two axes channels last (program_images.h), those of one or three are as they come.
bool is_last(const OperatorView& view, const ProgramLayout& image) {
  constexpr std::size_t kImage = 4;  // batch, channels and two axes
  return (view.card().images_last && image.shape.size() == kImage) || holds_channels_last(image);
}

struct Sides {
  const ProgramLayout* image;
  const ProgramLayout* results;
};
// For a transposed convolution the results are the image: it is the gradient of a plain one.
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
  // Small ones wait for their launch, which takes no longer.
  const bool small = shape.tensor_ops < kFewChannelsSmall;
  if (small) shape.tensor_ops *= kFewChannels;
  list.add(name, shape, multiplied_as(dtype)).manner = small ? Manner::plain : Manner::few_channels;
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

void add_plain(KernelList& list, const Window& window, ConvBackward direction, std::string_view name,
               std::string_view dtype) {
  if (has_few_channels(window, dtype) && window.shape.groups == 1) return add_padded(list, window, name, dtype);
  Window filled = window;
  fill_tiles(filled, dtype);
  filled.shape.backward = direction;
  list.add_grid("convolution set-up", 1, 32, 1, 1, kConvolutionSetUp);
  ProgramKernel& kernel = list.add(name, filled.shape, multiplied_as(dtype));
  if (dtype != "fp32") return;
  if (direction == ConvBackward::weight) kernel.manner = Manner::tf32_filter_gradient;
  if (direction == ConvBackward::data) kernel.manner = Manner::tf32_data_gradient;
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

// Rows of fp32 matrices have to begin at multiples of 16 bytes; channels first, they are an image's positions.
bool takes_products(const Window& window, const ProgramLayout& image, bool last) {
  if (!window.unit || window.shape.groups > 1) return false;
  const Count positions = window.shape.height * window.shape.width;
  return last || positions == 1 || image.dtype != "fp32" || positions % 4 == 0;
}

// A filter of one tap lies the same both ways.
void add_filter_turn(KernelList& list, const Window& window, const ProgramLayout& filter) {
  if (taps_of(window.shape) > 1 || window.depth > 1) add_turn(list, filter);
}

const char* name_of(ConvBackward direction) {
  switch (direction) {
    case ConvBackward::none: return "convolution";
    case ConvBackward::data: return "data gradient";
    case ConvBackward::weight: return "filter gradient";
  }
  return "";
}

// What is read is converted before, what is written after.
void add_direction(KernelList& list, const Window& window, const ConvolutionTensors& tensors, ConvBackward direction) {
  const std::string_view dtype = tensors.image->dtype;
  if (is_depthwise(window.shape)) return add_depthwise(list, window, tensors, direction);
  if (window.shape.groups > 1) return add_grouped(list, window, tensors, direction);
  if (takes_products(window, *tensors.image, tensors.last))
    return add_unit(list, window.shape, tensors.last || window.shape.height * window.shape.width == 1, direction,
                    dtype);
  const bool turns = !tensors.last, filter = direction == ConvBackward::weight, data = direction == ConvBackward::data;
  if (turns && !data && !holds_channels_last(*tensors.image)) add_turn(list, *tensors.image);
  if (turns && (data || filter)) add_turn(list, *tensors.results);
  if (turns && !filter) add_filter_turn(list, window, *tensors.filter);
  add_plain(list, window, direction, name_of(direction), dtype);
  if (turns && filter) add_filter_turn(list, window, *tensors.filter);
  if (turns && data) add_turn(list, *tensors.image);
  if (turns && !data && !filter) add_turn(list, *tensors.results);
}

void lower_convolution(const OperatorView& view, KernelList& list) {
  const ProgramLayout *in = view.tensor("input"), *filter = view.tensor("weight"), *out = view.result();
  if (!in || !filter || !out || elements_of(*out) == 0) return;
  const Sides sides = sides_of(view, *in, *out);
  const auto window = window_of(view, *sides.image, *filter, *sides.results);
  if (!window) return;
  const ConvBackward direction = view.truth("transposed") ? ConvBackward::data : ConvBackward::none;
  add_direction(list, *window, {sides.image, filter, sides.results, is_last(view, *out)}, direction);
  if (view.card().images_last && window->axes == 2 && !window->unit && !holds_channels_last(*filter))
    add_filter_copy(list, *filter);
  if (view.tensor("bias") && (!view.card().compiled || view.card().bias_first)) add_bias(list, *out);
}

void lower_convolution_gradients(const OperatorView& view, KernelList& list) {
  const ProgramLayout *gradient = view.tensor("grad_output"), *in = view.tensor("input"),
                      *filter = view.tensor("weight");
  if (!gradient || !in || !filter) return;
  const Sides sides = sides_of(view, *in, *gradient);
  const auto window = window_of(view, *sides.image, *filter, *sides.results);
  if (!window) return;
  const std::vector<Count> mask = view.wholes("output_mask");
  const bool wants_data = mask.empty() || mask[0] != 0, wants_filter = mask.size() < 2 || mask[1] != 0,
             wants_bias = mask.size() > 2 && mask[2] != 0;
  const ConvolutionTensors tensors{sides.image, filter, sides.results, is_last(view, *gradient)};
  const ConvBackward to_data = view.truth("transposed") ? ConvBackward::none : ConvBackward::data;
  if (wants_data) add_direction(list, *window, tensors, to_data);
  if (wants_filter) add_direction(list, *window, tensors, ConvBackward::weight);
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
