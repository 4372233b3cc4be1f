// Kernels that stream: arithmetic of elements, what L1 keeps, waits of small steps; and how an SM is shared out.
#pragma once

#include "constants/constant.h"

namespace tilecast::constants {

namespace sources {
inline constexpr std::string_view kCudaMath =
    "instruction sequences of the CUDA math library in fp32 without fast-math, counted";
inline constexpr std::string_view kOccupancy = "CUDA occupancy calculator, compute capability 6.0 to 12.0";
inline constexpr std::string_view kSoftmaxRows =
    "NeuSight's softmax rows of V100, T4 and A100, around the columns where they slow down";
}  // namespace sources

// Slots of the FMA pipe for one element.
inline constexpr Number kDivisionSlots{
    "element.division", 8, "slots", published, "reciprocal, two Newton steps, range handling", sources::kCudaMath};
inline constexpr Number kReciprocalSlots{
    "element.reciprocal", 4, "slots", published, "reciprocal and one Newton step with its range check",
    sources::kCudaMath};
inline constexpr Number kExpSlots{
    "element.exp", 4, "slots", published, "scale by log2(e) in two parts, ex2, rescale", sources::kCudaMath};
inline constexpr Number kErfSlots{
    "element.erf",     14, "slots", published, "polynomial of degree 9 times an ex2, and its branch select",
    sources::kCudaMath};
inline constexpr Number kPowSlots{"element.pow",
                                  90,
                                  "slots",
                                  measured,
                                  "of CUDA's powf, by any exponent",
                                  "32 to 64 million numbers to the power of 2.5 on an H200 "
                                  "(data/measurements/h200_sweep.csv.gz); NeuSight's products "
                                  "of two tensors on A100 take as long as their powers, which allows 85"};
inline constexpr Number kSquareSlots{
    "element.square",
    2,
    "slots",
    published,
    "squares and cubes are multiplied out",
    "PyTorch's pow_tensor_scalar_kernel_impl; as long as a product on an H200 (h200_small_kernels.csv.gz)"};
inline constexpr Number kTanhSlots{
    "element.tanh", 8, "slots", published, "exp and reciprocal, a polynomial near zero", sources::kCudaMath};
inline constexpr Number kExponentialSlots{"element.exponential_draw",
                                          30,
                                          "slots",
                                          assumed,
                                          "a Philox number and its logarithm",
                                          "about two rounds of Philox an element"};
inline constexpr Number kFilteredDrawSlots{"element.filtered_draw",
                                           12,
                                           "slots",
                                           assumed,
                                           "of an element in a draw by rejection",
                                           "scan, comparison with two pivots, two sums"};
inline constexpr Number kPlainDrawSlots{"element.plain_draw", 3, "slots", assumed, "of an element in a plain draw",
                                        "scan and comparison"};
inline constexpr Number kSortPassSlots{"element.sort_pass",
                                       10,
                                       "slots",
                                       assumed,
                                       "of an item in one pass of a radix sort",
                                       "digit, rank and address of an item"};
inline constexpr Number kRejectionPasses{"sampling.rejection_passes",
                                         4,
                                         "1",
                                         published,
                                         "readings of the probabilities with top-k or top-p: about two rounds",
                                         "FlashInfer, Sorting-Free GPU Kernels for LLM Sampling, 2025"};

// What PyTorch's kernels for other than contiguous tensors of one type spend on an element (kernel/torch_walk.h).
namespace sources {
inline constexpr std::string_view kWalks =
    "chains of the operator in CUDA graphs on an H200, hidden size 4096 (data/measurements/h200_small.csv.gz)";
}  // namespace sources
inline constexpr Number kStridedThreadSlots{
    "walk.strided_thread", 28, "slots", fitted, "of a thread of elementwise_kernel, whatever its elements",
    sources::kWalks};
inline constexpr Number kStridedOperandSlots{
    "walk.strided_operand", 13.5, "slots", fitted, "of an element for the offset of each of its operands",
    sources::kWalks};
inline constexpr Number kStridedSteps{
    "walk.strided_steps", 3.25, "1", fitted, "waits in line: parameters, offsets, loads", sources::kWalks};
inline constexpr Number kStridedPairSteps{"walk.strided_pair_steps",
                                          1.5,
                                          "1",
                                          fitted,
                                          "the same of a thread of two elements, of four bytes or more",
                                          sources::kWalks};
inline constexpr Number kWidenSlots{
    "walk.widen", 33.5, "slots", fitted, "of an element that is converted to a wider type by itself", sources::kWalks};
inline constexpr Number kWidenSteps{"walk.widen_steps", 4.4, "1", fitted, "waits in line of such a kernel",
                                    sources::kWalks};
inline constexpr Number kCatSlots{"walk.cat",     65, "slots", fitted, "of an element of pieces put side by side",
                                  sources::kWalks};
inline constexpr Number kCatSteps{"walk.cat_steps", 4, "1", fitted, "waits in line of such a kernel", sources::kWalks};
inline constexpr Number kIndexSlots{
    "walk.index", 55, "slots", fitted, "of an element written to a place that a tensor names", sources::kWalks};
inline constexpr Number kIndexSteps{"walk.index_steps", 5, "1", fitted, "waits in line of such a kernel",
                                    sources::kWalks};

// Look-ups in a table (kernel/embedding.cpp).
namespace sources {
inline constexpr std::string_view kLookUps =
    "look-ups on an H200, PyTorch 2.11 (data/measurements/h200_products_rows.csv.gz)";
}  // namespace sources
inline constexpr Number kFewIndicesSteps{
    "embedding.few_steps",
    1.38,
    "1",
    measured,
    "waits in line for one of up to 16 indices: its row, and a share of the line of indices",
    sources::kLookUps};
inline constexpr Number kGatherElementSlots{
    "embedding.element_slots", 67, "slots", fitted, "of an element gathered by itself: its place in both tensors",
    sources::kLookUps};
inline constexpr Number kRowsInTurnSteps{
    "embedding.gradient_steps", 3, "1", measured, "waits in line of 32 rows of a gradient: index, row, sum",
    sources::kLookUps};
inline constexpr Number kSortPassSteps{
    "embedding.sort_steps", 16, "1", measured, "waits in line of a pass of a radix sort", sources::kLookUps};

// What stays on an SM.
inline constexpr Number kL1Kept{
    "rowwise.l1_kept", 0.8, "1", measured, "of L1: rows up to this share are found again whole", sources::kSoftmaxRows};
inline constexpr Number kL1Lost{"rowwise.l1_lost",    1.7, "1", measured, "and nothing is from this share on",
                                sources::kSoftmaxRows};
inline constexpr Number kL1Beyond{"rowwise.l1_beyond",
                                  28,
                                  "KiB",
                                  published,
                                  "of the memory shared with L1 that CTAs cannot have",
                                  "CUDA programming guide, compute capability 7.0 to 9.0",
                                  "volta ampere ada hopper blackwell"};
inline constexpr Number kL1BeyondTuring{"rowwise.l1_beyond",
                                        0,
                                        "KiB",
                                        published,
                                        "of the memory shared with L1 that CTAs cannot have",
                                        "CUDA programming guide, compute capability 7.5",
                                        "turing"};
inline constexpr Number kL1Row{
    "quantize.l1_row",   64 * 1024, "bytes", assumed, "a row up to this comes from L1 the second time",
    "half of a small L1"};
inline constexpr Number kSector{
    "copy.sector", 32, "bytes", published, "least that a load brings from L2 into L1", "CUDA programming guide"};
inline constexpr Number kAtomicClocks{
    "quantize.atomic",
    11.5,
    "clocks",
    measured,
    "an atomic maximum on one address, in line with the others",
    "fp8 products of 1,024 to 32,768 rows, vLLM's less SGLang's: 13 a row on H100, H200 and L40S, 11 on B200 and "
    "GB200, 9 on RTX PRO 6000 (AIConfigurator)"};

// How an SM is shared out.
inline constexpr Whole kRegisterUnit{
    "occupancy.register_unit", 256, "registers", published, "in which a warp's registers are handed out",
    sources::kOccupancy};
inline constexpr Whole kWarpThreads{"occupancy.warp", 32, "threads", published, "of a warp", sources::kOccupancy};
inline constexpr Whole kSmPartitions{"occupancy.partitions",
                                     4,
                                     "1",
                                     published,
                                     "register files of an SM",
                                     sources::kOccupancy,
                                     "volta turing ampere ada hopper blackwell 6.1 amd intel"};
inline constexpr Whole kSmPartitionsP100{"occupancy.partitions", 2,    "1", published, "register files of an SM",
                                         sources::kOccupancy,    "6.0"};
inline constexpr Number kSharedReserved{"occupancy.shared_reserved",
                                        1024,
                                        "bytes",
                                        published,
                                        "of shared memory that every resident CTA takes for the system",
                                        sources::kOccupancy,
                                        "ampere ada hopper blackwell"};
inline constexpr Number kSharedUnit{
    "occupancy.shared_unit",      128, "bytes", published, "in which shared memory is handed out", sources::kOccupancy,
    "ampere ada hopper blackwell"};
inline constexpr Number kSharedUnitBefore{"occupancy.shared_unit",
                                          256,
                                          "bytes",
                                          published,
                                          "in which shared memory is handed out",
                                          sources::kOccupancy,
                                          "pascal volta turing amd intel"};

}  // namespace tilecast::constants
