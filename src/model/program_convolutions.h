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

// `image` is the side that the filter slides over, `results` the other; transposed convolutions swap them. Empty if the
// sizes are impossible for a convolution.
std::optional<Window> window_of(const OperatorView& view, const ProgramLayout& image, const ProgramLayout& filter,
                                const ProgramLayout& results);
bool holds_channels_last(const ProgramLayout& image);
Count taps_of(const Conv2d& shape);
// cuDNN multiplies fp32 as tf32 unless told otherwise (torch.backends.cudnn.allow_tf32).
std::string_view multiplied_as(std::string_view dtype);
// Converts an image or a filter between channels first and channels last.
void add_turn(KernelList& list, const ProgramLayout& image);

// The three tensors of a convolution and their layouts.
struct ConvolutionTensors {
  const ProgramLayout* image;
  const ProgramLayout* filter;
  const ProgramLayout* results;
  bool last = false;  // channels last
};

// One filter per channel.
bool is_depthwise(const Conv2d& shape);
void add_depthwise(KernelList& list, const Window& window, const ConvolutionTensors& tensors, ConvBackward direction);

// Several groups of channels, each separate.
void add_grouped(KernelList& list, const Window& window, const ConvolutionTensors& tensors, ConvBackward direction);

}  // namespace tilecast
