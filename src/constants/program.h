// Kernels of PyTorch programs that no family of src/kernel has: how much longer they take than the ones they are priced
// by.
#pragma once

#include "constants/constant.h"

namespace tilecast::constants {

namespace sources {
inline constexpr std::string_view kProgramKernels =
    "kernels of the programs marked 'choose' on an H200, PyTorch 2.11 "
    "(data/measurements/h200_programs_kernels.csv.gz); "
    "those marked 'judge' judge it (docs/accuracy/programs.md)";
}  // namespace sources

namespace sources {
inline constexpr std::string_view kConvolutionSweep =
    "convolutions of 372 random shapes on an H200, PyTorch 2.11 and cuDNN 9.19, kernel by kernel "
    "(data/measurements/h200_convolutions.csv.gz); those marked 'judge' judge it (docs/accuracy/programs.md)";
}  // namespace sources

constexpr Number longer(std::string_view what, double factor) {
  return {"program.longer",         factor, "1", assumed, "than the kernel it is priced by",
          sources::kProgramKernels, "",     what};
}
inline constexpr Number kStridedAxis = longer("offsets over an axis beyond two, each", 0.1);
inline constexpr Number kMixedTypes = longer("operands of different types", 1.3);
inline constexpr Number kMixedStrided = longer("operands of different types and strides", 3.2);
inline constexpr Number kRecurrentProduct = longer("a recurrent layer's product of one time", 1.75);
inline constexpr Number kRecurrentCell = longer("a recurrent layer's cell", 2.4);
inline constexpr Number kWriteOnly = longer("fills, which write alone", 1.25);
inline constexpr Number kTurned = longer("images between channels first and last, 16 bits", 1.55);
inline constexpr Number kTurnedWide = longer("images between channels first and last, fp32", 1.08);
inline constexpr Number kFewChannels =
    longer("convolutions over channels padded to 16 bytes, over the tensor pipe's peak", 8);
inline constexpr Number kAtomics = longer("sums number by number in L2", 2.7);
inline constexpr Number kCompiledAtomics = longer("sums number by number in a compiled kernel", 3.1);
inline constexpr Number kSumsOfSquares = longer("mean and variance of channels-last images", 7.5);
inline constexpr Number kByChannel = longer("scales of a channel, channels last", 1.6);
inline constexpr Number kByPlane = longer("scales of a channel, channels first, cuDNN", 1.2);
inline constexpr Number kByPlaneNative = longer("scales of a channel, channels first, PyTorch", 2.2);
inline constexpr Number kChannelSums = longer("two sums a channel", 2.2);
inline constexpr Number kAttentionDropout = longer("attention with dropout", 2.07);
inline constexpr Number kAttentionDropoutBackward = longer("its gradient", 1.22);
inline constexpr Number kAttentionBias = longer("attention with a bias of every score", 1.75);
inline constexpr Number kRandom = longer("dropout", 1.35);
inline constexpr Number kManyStates = longer("fused optimizer, fp32", 1.23);
inline constexpr Number kManyNarrowStates = longer("fused optimizer, 16 bits", 1.35);
inline constexpr Number kDividedPlaces = longer("rolled, shuffled and padded copies", 2.1);

inline constexpr Number kTf32FilterGradient{
    "program.longer",
    2.2,
    "1",
    fitted,
    "than the kernel it is priced by",
    sources::kConvolutionSweep,
    "",
    "filter gradients in tf32: both operands lie across the sums, which wgmma takes of 16-bit numbers alone"};

// Instruction slots of a lane for each result of a depthwise convolution, and for each of its taps.
struct DepthwiseSlots {
  Number tap, result;
};
constexpr DepthwiseSlots depthwise(std::string_view what, double tap, double result) {
  return {
      {"program.depthwise_tap", tap, "1", fitted, "instruction slots of a tap", sources::kConvolutionSweep, "", what},
      {"program.depthwise_result", result, "1", fitted, "instruction slots of a result beside its taps",
       sources::kConvolutionSweep, "", what}};
}
inline constexpr DepthwiseSlots kDepthwiseOwn = depthwise("PyTorch's kernel, channels first", 14.8, 95);
inline constexpr DepthwiseSlots kDepthwiseOwnGradient = depthwise("its gradient by the image", 17.5, 230);
inline constexpr DepthwiseSlots kDepthwiseLast = depthwise("cuDNN's kernels, channels last, 16 bits", 4.1, 17);
inline constexpr DepthwiseSlots kDepthwiseLastWide = depthwise("cuDNN's kernels, channels last, fp32", 5.8, 13);
inline constexpr DepthwiseSlots kDepthwiseLastGradient =
    depthwise("cuDNN's gradient by the image, channels last", 7, 10);
inline constexpr DepthwiseSlots kDepthwiseFilterNarrow = depthwise("cuDNN's filter gradient, 16 bits", 1.7, 58);
inline constexpr DepthwiseSlots kDepthwiseFilterWide = depthwise("cuDNN's filter gradient, fp32", 5.3, 0);

inline constexpr Number kConvolutionSetUp{
    "program.convolution_set_up",
    5,
    "loads",
    fitted,
    "that wait for each other before a convolution's products: workspaces and tables",
    sources::kConvolutionSweep};

inline constexpr Number kLoneLaunchUnits{"program.lone_launch",
                                         0.4,
                                         "additions",
                                         assumed,
                                         "of the host for a further kernel of an operator, which C++ launches",
                                         sources::kProgramKernels};
inline constexpr Number kForeachCalls{"program.foreach_calls",
                                      9,
                                      "1",
                                      assumed,
                                      "operators over lists that a foreach optimizer's step is made of",
                                      "torch/optim/adam.py, _multi_tensor_adam, PyTorch 2.11"};

}  // namespace tilecast::constants
