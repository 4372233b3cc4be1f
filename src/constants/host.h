// The host that launches PyTorch's operators one by one: what each takes, over a plain addition.
#pragma once

#include "constants/constant.h"

namespace tilecast::constants {

namespace sources {
inline constexpr std::string_view kHostOperators =
    "operators on tiny tensors beside additions in the same rounds, host of an H200 (data/measurements/h200_host.csv)";
inline constexpr std::string_view kHostSteps =
    "27 steps of ViT-B, BERT-B, T5-B, GPT-2 medium, TinyLlama, Llama 3.2 1B and 3.1 8B that wait for the host, over an "
    "addition's time in the same run (data/measurements/h200_host_steps.csv, h200_steps.csv.gz): least absolute "
    "logarithm; "
    "other models judge it (docs/accuracy/whole-models.md)";
}  // namespace sources

constexpr Number host_units(std::string_view what, double additions) {
  return {"host.units", additions, "additions", measured, "that an operator takes of the host", sources::kHostOperators,
          "",           what};
}
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

inline constexpr Number kAround{
    "host.around",      1.43, "1", fitted, "operators with their views, slices and Python over the operators alone",
    sources::kHostSteps};
inline constexpr Number kBlockUnits{"host.block",
                                    24,
                                    "additions",
                                    fitted,
                                    "Python around an attention: the modules of its layer, their checks and wrappers",
                                    sources::kHostSteps,
                                    "",
                                    "transformers' modules"};
inline constexpr Number kCheckpointUnits{
    "host.checkpoint",
    150,
    "additions",
    measured,
    "torch.utils.checkpoint around a block, forward and again: random states kept and put back, a hook for each tensor",
    "steps of 8B's layers over 8192 tokens with and without it: 147, 178 (every second layer) and 143 (attention "
    "alone) "
    "more than the operators that run again (data/measurements/h200_training_steps.csv.gz)"};
inline constexpr Number kExchangeUnits{"host.exchange",
                                       5,
                                       "additions",
                                       assumed,
                                       "that calling a collective of torch.distributed takes of the host",
                                       "its Python wrapper, c10d's work object and NCCL's enqueueing"};
inline constexpr Number kRecorded{
    "host.recorded",        1.2, "1", measured, "an operator that is recorded for its gradient over one that is not",
    sources::kHostOperators};

}  // namespace tilecast::constants
