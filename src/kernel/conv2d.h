// Two-dimensional convolution, forward and both gradients, as cuDNN-like libraries run it.
#pragma once

#include <array>

#include "kernel/context.h"
#include "kernel/fields.h"
#include "kernel/plan.h"
#include "tilecast/result.h"

namespace tilecast {

enum class ConvBackward : std::uint8_t { none, data, weight };
inline constexpr std::array<std::string_view, 3> kConvBackwardNames = {"none", "data", "weight"};
constexpr const auto& enum_names(ConvBackward) { return kConvBackwardNames; }

struct Conv2d {
  static constexpr FamilyInfo kFamily{
      "conv2d", "two-dimensional convolution: implicit GEMM, or Winograd where libraries take it",
      "--batch 32 --in-channels 256 --out-channels 256 --height 28 --width 28 --kernel 3 --padding 1"};
  Count batch = 0, in_channels = 0, out_channels = 0;
  Count height = 0, width = 0;  // of the input
  Count kernel = 1;
  Count kernel_h = 0, kernel_w = 0;  // zero: `kernel`
  Count stride = 1, padding = 0, dilation = 1, groups = 1;
  ConvBackward backward = ConvBackward::none;

  template <class Self, class Visit>
  static void fields(Self& s, Visit&& visit) {
    visit("batch", s.batch, "images", Need::required);
    visit("in-channels", s.in_channels, "channels of the input", Need::required);
    visit("out-channels", s.out_channels, "channels of the result", Need::required);
    visit("height", s.height, "rows of the input", Need::required);
    visit("width", s.width, "columns of the input", Need::required);
    visit("kernel", s.kernel, "side of a square filter (default 1)");
    visit("kernel-h", s.kernel_h, "rows of the filter, if not square");
    visit("kernel-w", s.kernel_w, "columns of the filter, if not square");
    visit("stride", s.stride, "step between results (default 1)");
    visit("padding", s.padding, "zeros around the input (default 0)");
    visit("dilation", s.dilation, "step between taps of the filter (default 1)");
    visit("groups", s.groups, "independent groups of channels (default 1)");
    visit("backward", s.backward, "the gradient of the data or the weights instead (default none)");
  }
  Status check() const;

  // One of the two image axes.
  struct Axis {
    Count size, taps, stride, padding, dilation;
    Count results() const { return (size + 2 * padding - dilation * (taps - 1) - 1) / stride + 1; }
    // Taps that meet the input, not its padding, summed over all results.
    Count products() const;
    // Input positions that some tap certainly meets.
    Count touched() const;
  };
  Axis vertical() const { return {height, kernel_h ? kernel_h : kernel, stride, padding, dilation}; }
  Axis horizontal() const { return {width, kernel_w ? kernel_w : kernel, stride, padding, dilation}; }
};

Result<Plan> plan(const Conv2d& shape, const Format& format, const Gpu& gpu, const Context& context);

}  // namespace tilecast
