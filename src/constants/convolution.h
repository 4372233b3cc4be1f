// Convolutions of PyTorch programs: what cuDNN's engines take, and by what its heuristics choose among them.
#pragma once

#include "constants/constant.h"

namespace tilecast::constants {

namespace sources {
inline constexpr std::string_view kConvolutionSweep =
    "the half marked 'choose' of 1,772 convolutions on an H200, PyTorch 2.11 and cuDNN 9.19, kernel by kernel "
    "(data/measurements/h200_convolutions.csv.gz, h200_convolution_layers.csv.gz); the half marked 'judge' judges "
    "(docs/accuracy/convolutions.md)";
}  // namespace sources

constexpr Number convolution_constant(std::string_view name, double value, std::string_view unit, std::string_view what,
                                      std::string_view where = "") {
  return {name, value, unit, fitted, what, sources::kConvolutionSweep, "", where};
}

constexpr Number longer_convolution(std::string_view what, double factor) {
  return convolution_constant("program.longer", factor, "1", "than the kernel it is priced by", what);
}
inline constexpr Number kTf32FilterGradient = longer_convolution(
    "filter gradients in tf32: both operands lie across the sums, which wgmma takes of 16-bit numbers alone", 2.2);
inline constexpr Number kTf32DataGradient =
    longer_convolution("data gradients in tf32, and transposed convolutions: the filter lies across the sums", 1.3);
inline constexpr Number kSharedTile = longer_convolution("convolutions whose groups share tiles", 1.3);
inline constexpr Number kFewChannels =
    longer_convolution("convolutions over channels padded to 16 bytes, over the tensor pipe's peak", 8);
inline constexpr Number kFewChannelsSmall =
    convolution_constant("program.few_channels_small", 2e9, "1",
                         "operations up to which a convolution over few channels waits for its launch");

// Instruction slots of a lane for each result of a depthwise convolution, and for each of its taps.
struct DepthwiseSlots {
  Number tap, result;
};
constexpr DepthwiseSlots depthwise(std::string_view what, double tap, double result) {
  return {convolution_constant("program.depthwise_tap", tap, "1", "instruction slots of a tap", what),
          convolution_constant("program.depthwise_result", result, "1", "instruction slots of a result beside its taps",
                               what)};
}
inline constexpr DepthwiseSlots kDepthwiseOwn = depthwise("PyTorch's kernel, images channels first", 14.8, 97);
inline constexpr DepthwiseSlots kDepthwiseOwnGradient = depthwise("its gradient by the image", 16.5, 243);
inline constexpr DepthwiseSlots kDepthwiseOwnLine = depthwise("PyTorch's kernel, lines", 8, 218);
inline constexpr DepthwiseSlots kDepthwiseOwnLineGradient = depthwise("its gradient by the line", 13.5, 167);
inline constexpr DepthwiseSlots kDepthwiseOddLine = depthwise("cuDNN's kernels for lines, fp16, odd filters", 4, 33);
inline constexpr DepthwiseSlots kDepthwiseEvenLine = depthwise("cuDNN's kernels for lines, fp16, even filters", 1, 102);
inline constexpr DepthwiseSlots kDepthwiseFilterLine = depthwise("cuDNN's filter gradient of lines, fp16", 24, 195);
inline constexpr DepthwiseSlots kDepthwiseLast = depthwise("cuDNN's kernels, channels last, 16 bits", 4.1, 17);
inline constexpr DepthwiseSlots kDepthwiseLastWide = depthwise("cuDNN's kernels, channels last, fp32", 7, 8);
inline constexpr DepthwiseSlots kDepthwiseLastGradient =
    depthwise("cuDNN's gradient by the image, channels last", 8.5, 4);
inline constexpr DepthwiseSlots kDepthwiseFilterNarrow = depthwise("cuDNN's filter gradient, 16 bits", 4, 55);
inline constexpr DepthwiseSlots kDepthwiseFilterWide = depthwise("cuDNN's filter gradient, fp32, to 25 taps", 3, 130);
inline constexpr DepthwiseSlots kDepthwiseFilterLarge = depthwise("cuDNN's filter gradient, fp32, more taps", 110, 0);

inline constexpr Number kConvolutionSetUp =
    convolution_constant("program.convolution_set_up", 5, "loads",
                         "that wait for each other before a convolution's products: workspaces and tables");

// Copies into padded groups and cuts out of them, by divisions for every element.
inline constexpr Number kTransformSlots = convolution_constant(
    "program.transform_slots", 155, "1", "instruction slots of an element", "cuDNN's tensorTransformGeneric");
inline constexpr Number kTransformLoads = convolution_constant(
    "program.transform_loads", 17, "loads", "that wait for each other", "cuDNN's tensorTransformGeneric");
inline constexpr Number kSliceSlots =
    convolution_constant("program.slice_slots", 72, "1", "instruction slots of an element", "cuDNN's nhwcSliceC");

// Kernels of one group, in the steps that a streaming kernel waits for a load (0.27 us on an H200).
inline constexpr Number kGroupSetUp =
    convolution_constant("program.group_set_up", 7, "loads", "before and after the main loop of one group's kernel");
inline constexpr Number kGroupStep =
    convolution_constant("program.group_step", 0.55, "loads", "for 32 channels of a tap", "16 bits, to 32 taps");
inline constexpr Number kGroupLongStep = convolution_constant(
    "program.group_step", 1.9, "loads", "for 64 bytes of a tap's channels", "fp32, or more than 32 taps");
inline constexpr Number kGroupDataStep =
    convolution_constant("program.group_data", 1.4, "1", "a step of the data's gradient over one of the convolution");
inline constexpr Number kGroupSplit =
    convolution_constant("program.group_split", 5, "1", "parts of the sums of one group's filter gradient");
inline constexpr Number kFewGroupsSplit = convolution_constant(
    "program.group_split", 16, "1", "parts of the sums of one group's filter gradient", "few groups");
inline constexpr Number kLongFilterStep =
    convolution_constant("program.group_long_filter", 0.55, "loads", "for a channel of a tap",
                         "filters of 128 taps over channels that are no power of two");
inline constexpr Number kLongFilterSlots =
    convolution_constant("program.group_long_filter", 5.5, "1", "instruction slots of a product",
                         "filters of 128 taps over channels that are no power of two");
inline constexpr Number kMostMaskedTaps{"program.masked_taps",
                                        32,
                                        "1",
                                        published,
                                        "taps that CUTLASS's optimized iterators hold in a mask",
                                        "conv2d_fprop_activation_tile_access_iterator_optimized.h, CUTLASS 3"};

// Where cuDNN's heuristics take groups one by one.
constexpr Number grouped_choice(std::string_view what, double value, std::string_view unit) {
  return convolution_constant("program.group_choice", value, unit, "from which groups run one by one, or together",
                              what);
}
inline constexpr Number kFewGroups = grouped_choice("few groups", 5, "1");
inline constexpr Number kSmallGroup = grouped_choice("products of a small group", 1.9e8, "1");
inline constexpr Number kWideGroup = grouped_choice("channels of a wide group", 44, "1");
inline constexpr Number kLargeGroup = grouped_choice("products of a large group", 1.4e9, "1");

}  // namespace tilecast::constants
