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

inline constexpr Number kAcrossRows = longer("what a compiled sum of rows reads or writes across them, beyond its bytes", 2.3);
inline constexpr Number kEvenParts = longer("compiled sums over channels of an image that lie apart, in even parts", 2);
inline constexpr Number kUnevenParts = longer("compiled sums over channels of an image that lie apart, in uneven parts", 6);

namespace sources {
inline constexpr std::string_view kNormSweep =
    "the half marked 'choose' of 360 norms on an H200, PyTorch 2.11, kernel by kernel "
    "(data/measurements/h200_norms.csv.gz); the half marked 'judge' judges (docs/accuracy/convolutions.md)";
}  // namespace sources
constexpr Number norm_constant(std::string_view name, double value, std::string_view unit, std::string_view what,
                               std::string_view where) {
  return {name, value, unit, fitted, what, sources::kNormSweep, "", where};
}
inline constexpr Number kStatisticsLoads =
    norm_constant("program.channel_loads", 0.7, "loads", "of a turn that wait for each other", "mean and variance");
inline constexpr Number kStatisticsSlots =
    norm_constant("program.channel_slots", 50, "1", "instruction slots of an element", "mean and variance");
inline constexpr Number kNormGradientLoads =
    norm_constant("program.channel_loads", 1.45, "loads", "of a turn that wait for each other", "a norm's gradient");
inline constexpr Number kNormGradientSlots =
    norm_constant("program.channel_slots", 85, "1", "instruction slots of an element", "a norm's gradient");

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
