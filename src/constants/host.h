// The host that launches PyTorch's operators one by one: what each takes, over a plain addition.
#pragma once

#include "constants/constant.h"

namespace tilecast::constants {

namespace sources {
inline constexpr std::string_view kHostOperators =
    "operators on tiny tensors beside additions in the same rounds, host of an H200 (data/measurements/h200_host.csv)";
inline constexpr std::string_view kHostSteps =
    "steps of ViT-B, BERT-B, GPT-2 medium, ResNet-50 and Whisper small on that host, over their operators' own time "
    "(data/measurements/h200_host_steps.csv); other models judge it (docs/accuracy.md)";
}  // namespace sources

constexpr Number host_units(std::string_view what, double additions) {
  return {"host.units", additions, "additions", measured, "that an operator takes of the host", sources::kHostOperators,
          "",           what};
}
inline constexpr Number kAddition{"host.launch",
                                  9,
                                  "us",
                                  measured,
                                  "of a plain addition, from its call to the next one's",
                                  "hosts of two H200s: 6.2 to 10 us (data/measurements/h200_host.csv) and 7.4 to 12 us "
                                  "(h200_steps.csv.gz), by the hour",
                                  "",
                                  "pytorch"};
inline constexpr Number kProductUnits = host_units("product of a linear layer", 2.2);
inline constexpr Number kBatchedUnits = host_units("batched product", 2.4);
inline constexpr Number kAttentionUnits = host_units("fused attention", 2.5);
inline constexpr Number kConvolutionUnits = host_units("convolution", 3.9);
inline constexpr Number kNormUnits = host_units("norm in one kernel", 1.8);
inline constexpr Number kPointwiseUnits = host_units("pointwise", 1.15);
inline constexpr Number kReductionUnits = host_units("reduction, softmax", 1.25);
inline constexpr Number kCopyUnits = host_units("copy, concatenation, gather", 1.35);
inline constexpr Number kLossUnits = host_units("cross-entropy", 2.1);
inline constexpr Number kFusedOptimizerUnits = host_units("fused optimizer", 9.4);
inline constexpr Number kFusedTensorUnits = host_units("fused optimizer, each tensor", 0.45);
inline constexpr Number kForeachOptimizerUnits = host_units("foreach optimizer", 26);
inline constexpr Number kForeachTensorUnits = host_units("foreach optimizer, each tensor", 1.4);

inline constexpr Number kOperatorsAround{
    "host.around", 1.3, "1", fitted, "views, slices and Python over operators' own time", sources::kHostSteps, "",
    "operators called one after the other"};
inline constexpr Number kModulesAround{
    "host.around", 1.8, "1", fitted, "views, slices and Python over operators' own time", sources::kHostSteps, "",
    "transformers' modules"};
inline constexpr Number kRecorded{"host.autograd",
                                  1.2,
                                  "1",
                                  measured,
                                  "an operator that is recorded for its gradient over one that is not",
                                  sources::kHostOperators};
inline constexpr Number kGradientNode{
    "host.autograd", 1.5, "1", fitted, "a gradient's operator over the same without autograd", sources::kHostSteps, "",
    "backward"};

}  // namespace tilecast::constants
