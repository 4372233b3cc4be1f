// Convolutions of recorded programs: what their tensors say, and the kernels of cuDNN's engines.
#pragma once

#include <optional>
#include <string_view>

#include "kernel/conv2d.h"
#include "model/program_rules.h"

namespace tilecast {

// A convolution in any number of dimensions, as the two that the kernel family has.
struct Window {
  Conv2d shape;
  Count depth = 1;   // frames that a result sees, which stand among the channels
  Count axes = 2;    // of an image
  bool unit = true;  // a filter of one tap without steps: a product
};

// `image` is the side that the filter slides over, `results` the other; transposed convolutions swap them. Nothing
// where sizes are none that a convolution may have.
std::optional<Window> window_of(const OperatorView& view, const ProgramLayout& image, const ProgramLayout& filter,
                                const ProgramLayout& results);
bool holds_channels_last(const ProgramLayout& image);
Count taps_of(const Conv2d& shape);
// cuDNN multiplies fp32 as tf32 unless it is told otherwise (torch.backends.cudnn.allow_tf32).
std::string_view multiplied_as(std::string_view dtype);
// An image or a filter changes between channels first and last.
void add_turn(KernelList& list, const ProgramLayout& image);

// The three tensors of a convolution and how they lie.
struct ConvolutionTensors {
  const ProgramLayout* image;
  const ProgramLayout* filter;
  const ProgramLayout* results;
  bool last = false;  // channels last
};

// One filter a channel.
bool is_depthwise(const Conv2d& shape);
void add_depthwise(KernelList& list, const Window& window, const ConvolutionTensors& tensors, ConvBackward direction);

// Several groups of channels, each by itself.
void add_grouped(KernelList& list, const Window& window, const ConvolutionTensors& tensors, ConvBackward direction);

}  // namespace tilecast
