// Matrix products: latencies of main loops, what their loads share, how libraries choose tiles.
#pragma once

#include "constants/constant.h"

namespace tilecast::constants {

namespace sources {
inline constexpr std::string_view kPipelineFit =
    "bf16 GEMM of the cards with measured rows, fitted together in a prototype (docs/method.md, forecast)";
inline constexpr std::string_view kCdnaPlateau =
    "clocks as mma.sync's; the share from the fastest of NeuSight's fp32 products (rocBLAS on the matrix cores), which "
    "stop at 34.5 of 46.1 TFLOP/s on MI100 and at 33.0 of 45.3 on MI210; no 16-bit rows";
inline constexpr std::string_view kMfmaFit =
    "AITER's tuned products on MI300X, fp8, int8 and bf16, weighed by sides of the weights; MI308X left out";
inline constexpr std::string_view kWgmmaChoice =
    "local search for most tiles, padded operations and splits right on half of 3,488 cuBLAS choices on Hopper";
inline constexpr std::string_view kMoeRows = "AIConfigurator's MoE rows on A100, H200 and GB200";
}  // namespace sources

inline constexpr Number kReferenceClock{
    "pipeline.reference_clock", 1.9, "GHz", fitted, "clock that latencies and efficiencies are normalised to",
    sources::kPipelineFit};

// What differs by the way the tensor pipe is fed.
struct PipelineConstants {
  Tunable step_clocks, task_clocks, wave_share, efficiency;
  Number rate;
};
struct PipelineFigures {
  double step_clocks, task_clocks, wave_share, efficiency, rate;
};
constexpr PipelineConstants pipeline_constants(std::string_view cards, const PipelineFigures& f,
                                               std::string_view source = sources::kPipelineFit) {
  return {Constant{"pipeline.step_clocks", f.step_clocks, "clocks", fitted,
                   "one dependent main-loop step at the reference clock", source, cards},
          Constant{"pipeline.task_clocks", f.task_clocks, "clocks", fitted,
                   "prologue and epilogue of a task that nothing overlaps", source, cards},
          Constant{"pipeline.wave_share", f.wave_share, "1", fitted,
                   "share of task_clocks that every further task on the SM adds", source, cards},
          Constant{"pipeline.efficiency", f.efficiency, "1", fitted,
                   "share of the peak at the reference clock that a long product sustains", source, cards},
          Number{"pipeline.rate", f.rate, "operations/clock/SM", published,
                 "fp16 rate of the cards the efficiency was fitted on", "data sheets of A100, H100, B200 and MI300X",
                 cards}};
}
inline constexpr PipelineConstants kMmaPipeline =
    pipeline_constants("pascal volta mma intel",
                       {.step_clocks = 440, .task_clocks = 1580, .wave_share = 3.4, .efficiency = 0.92, .rate = 1024});
inline constexpr PipelineConstants kCdnaPipeline = pipeline_constants(
    "cdna1 cdna2", {.step_clocks = 440, .task_clocks = 1580, .wave_share = 3.4, .efficiency = 0.75, .rate = 1024},
    sources::kCdnaPlateau);
inline constexpr PipelineConstants kWgmmaPipeline = pipeline_constants(
    "wgmma", {.step_clocks = 150, .task_clocks = 1500, .wave_share = 0.55, .efficiency = 0.92, .rate = 4096});
inline constexpr PipelineConstants kTcgenPipeline = pipeline_constants(
    "tcgen05", {.step_clocks = 133, .task_clocks = 280, .wave_share = 0.77, .efficiency = 0.88, .rate = 8192});
inline constexpr PipelineConstants kMfmaPipeline = pipeline_constants(
    "cdna3 cdna4", {.step_clocks = 220, .task_clocks = 2300, .wave_share = 0.05, .efficiency = 0.597, .rate = 2048},
    sources::kMfmaFit);

// Products on the vector pipe. Where half of an SM's fp32 lanes share their way with integers, addresses take some of
// it.
inline constexpr Tunable kSimtEfficiency =
    Constant{"pipeline.simt_efficiency",
             0.97,
             "1",
             measured,
             "share of the fp32 peak that a long product sustains",
             "NeuSight's longest batched products: 0.99 on V100, 0.97 on A100, 0.94 on P100",
             "pascal volta turing 8.0 amd"};
inline constexpr Tunable kSharedLanesSimtEfficiency = Constant{"pipeline.simt_efficiency",
                                                               0.77,
                                                               "1",
                                                               measured,
                                                               "share of the fp32 peak that a long product sustains",
                                                               "0.75 on an H200 (data/measurements/h200_sustained.csv)",
                                                               "8.6 ada hopper blackwell intel"};

inline constexpr Tunable kSplitClocks = Constant{"pipeline.split_clocks",
                                                 5000,
                                                 "clocks",
                                                 fitted,
                                                 "joining the partial sums of a split of k",
                                                 sources::kPipelineFit,
                                                 "nvidia cdna1 cdna2 intel"};
inline constexpr Tunable kMfmaSplitClocks = Constant{
    "pipeline.split_clocks", 11500,        "clocks", fitted, "zeroing the result and adding parts to it by atomics",
    sources::kMfmaFit,       "cdna3 cdna4"};
inline constexpr Tunable kPipelineFeed =
    Constant{"pipeline.feed",       143,           "bytes/clock", fitted, "bytes of tiles that reach an SM from L2",
             sources::kPipelineFit, "nvidia intel"};
inline constexpr Number kAmdFeed{"pipeline.feed",
                                 64,
                                 "bytes/clock",
                                 published,
                                 "L1 bandwidth of a compute unit",
                                 "AMD CDNA1 and CDNA2 ISA guides",
                                 "amd"};
inline constexpr Tunable kMfmaFeed =
    Constant{"gemm.mfma.feed",  20,           "bytes/clock", fitted, "bytes of tiles that reach a compute unit from L2",
             sources::kMfmaFit, "cdna3 cdna4"};
inline constexpr Number kMfmaSharedShare{
    "gemm.mfma.shared_share", 0.6,          "1", fitted, "of the LDS's bandwidth that a product reaches",
    sources::kMfmaFit,        "cdna3 cdna4"};
inline constexpr Number kMfmaEpilogue{"gemm.mfma.epilogue",
                                      7.6,
                                      "bytes/result",
                                      fitted,
                                      "through the LDS on a result's way out: written, read, converted",
                                      sources::kMfmaFit,
                                      "cdna3 cdna4"};
// CUTLASS's scaled products on Ada: what results cost on their way out beyond a common kernel's.
namespace sources {
inline constexpr std::string_view kAdaEpilogue =
    "fp8 products of L40S with k up to 256, where little else takes time (AIConfigurator)";
}
constexpr Number ada_epilogue(double clocks, std::string_view kernels) {
  return {"gemm.scaled_epilogue", clocks, "clocks/result", measured, "of a tile, that nothing on the SM overlaps",
          sources::kAdaEpilogue,  "ada",  kernels};
}
inline constexpr Number kAdaNarrowEpilogue = ada_epilogue(3.5, "vllm, 64 columns");
inline constexpr Number kAdaWideEpilogue = ada_epilogue(0.95, "vllm, 128 columns");
inline constexpr Number kAdaTallEpilogue = ada_epilogue(2.8, "vllm, 256 rows");
inline constexpr Number kAdaSglangNarrowEpilogue = ada_epilogue(1.5, "sglang, 64 columns");
inline constexpr Number kAdaSglangWideEpilogue = ada_epilogue(0.4, "sglang, 128 columns");
inline constexpr Number kScaleSlots{
    "gemm.mfma.scale_slots",
    0.25,
    "slots/result",
    assumed,
    "scaling the sums of a block of k: two results a packed instruction, half of it hidden",
    "CDNA3 ISA guide: V_PK_FMA_F32; not separable from the LDS's time in AITER's rows",
    "cdna3 cdna4"};
inline constexpr Number kScaleDepth{
    "gemm.scale_depth", 128, "elements", published, "of k that share a scale", "DeepSeek-V3's block-scaled fp8"};
inline constexpr Tunable kLatencyExponent =
    Constant{"pipeline.latency_exponent", 0.43, "1", fitted, "latencies in clocks grow with this power of the clock",
             sources::kPipelineFit};
inline constexpr Tunable kEfficiencyExponent = Constant{
    "pipeline.efficiency_exponent", 0, "1", fitted, "and the share of the peak with this", sources::kPipelineFit};
inline constexpr Tunable kSlowPipeExponent =
    Constant{"pipeline.slow_pipe_exponent",
             1.5,
             "1",
             fitted,
             "how the lost share falls where the tensor pipe is slower than those fitted",
             "SynPerf's rows of H20 (0.96 of its peak) and L20 (0.91)"};
inline constexpr Number kMostEfficiency{
    "pipeline.most_efficiency", 0.97, "1", assumed, "no product sustains more of its peak", "above every measured row"};
inline constexpr Number kReferenceDepth{
    "pipeline.reference_depth", 64, "elements", fitted, "depth of a step that step_clocks is of, for SIMT kernels",
    sources::kPipelineFit};
inline constexpr Whole kLeastStepsPerSplit{"gemm.least_steps_per_split",
                                           4,
                                           "steps",
                                           assumed,
                                           "shorter main loops do not pay for the reduction",
                                           "CUTLASS's stages"};

// DRAM and L2 reads of products.
inline constexpr Number kSweepGroup{"gemm.sweep_group",
                                    8,
                                    "tiles",
                                    fitted,
                                    "tiles that go out side by side",
                                    "DRAM reads of 18 products beyond L2 (data/measurements/h200_counters.csv)"};
inline constexpr Whole kCoalescedSms{"gemm.coalesced_sms",
                                     4,
                                     "SMs",
                                     fitted,
                                     "neighbours whose simultaneous requests for a line L2 serves once",
                                     "L2 reads in data/measurements/h200_counters.csv; later cards by analogy",
                                     "hopper blackwell"};
inline constexpr Number kCoalescedShare{"gemm.coalesced_share",
                                        0.7,
                                        "1",
                                        fitted,
                                        "of such requests that do meet in the first round",
                                        "L2 reads of 59 products, median error 7 % (h200_counters.csv)"};
inline constexpr Number kCoalescedDrift{"gemm.coalesced_drift",
                                        -0.3,
                                        "1",
                                        fitted,
                                        "exponent by which it falls as CTAs drift apart round by round",
                                        "L2 reads of 59 products, median error 7 % (h200_counters.csv)"};

inline constexpr Number kUnpackSlots{"gemm.unpack_slots",
                                     3,
                                     "slots/weight",
                                     published,
                                     "shift, mask and scale of a weight-only format",
                                     "Marlin; TensorRT-LLM fpA_intB"};
// Kernels of earlier generations on Hopper (kernel/cublas_older.h).
namespace sources {
inline constexpr std::string_view kOlderRows =
    "2,400 products whose kernels are known on an H200, tiles and splits as launched: within 9 to 17 % "
    "(data/measurements/h200_products_rows.csv.gz)";
}  // namespace sources
struct OlderKernel {
  Number rate, elements, step_clocks, step_clocks_deep, result_clocks;
};
struct OlderFigures {
  double rate, elements, step_clocks, step_clocks_deep, result_clocks;
};
constexpr OlderKernel older_kernel(std::string_view kernels, const OlderFigures& f) {
  return {Number{"older.rate", f.rate, "multiply-adds/clock/SM", fitted, "that a long product sustains",
                 sources::kOlderRows, "", kernels},
          Number{"older.elements", f.elements, "elements/clock/SM", fitted,
                 "of either operand that reach shared memory", sources::kOlderRows, "", kernels},
          Number{"older.step_clocks", f.step_clocks, "clocks", fitted, "a step of the main loop takes at least",
                 sources::kOlderRows, "", kernels},
          Number{"older.step_clocks_deep", f.step_clocks_deep, "clocks", fitted, "more of a step of 64 elements",
                 sources::kOlderRows, "", kernels},
          Number{"older.result_clocks", f.result_clocks, "clocks", fitted, "that writing a result takes",
                 sources::kOlderRows, "", kernels}};
}
inline constexpr OlderKernel kTuringTensor = older_kernel("cutlass_75_tensorop, align1", {287, 4.7, 500, 300, 0.154});
inline constexpr OlderKernel kTuringWmma = older_kernel("cutlass_75_wmma, align1", {96, 6.9, 269, 497, 0});
inline constexpr OlderKernel kAmpereTensor = older_kernel("cutlass_80_tensorop, align2", {641, 7.3, 602, 272, 0.156});
inline constexpr OlderKernel kAmpereWmma = older_kernel("cutlass_80_wmma, align2", {182, 9.4, 81, 58, 0});
inline constexpr OlderKernel kAmpereTf32 = older_kernel("cutlass_80_tensorop, tf32, align4", {352, 10, 168, 145, 0.06});
inline constexpr OlderKernel kAmpereTf32Unaligned =
    older_kernel("cutlass_80_tensorop, tf32, align1", {280, 4.2, 201, 145, 0.189});
inline constexpr OlderKernel kHopperTf32 = older_kernel("sm90_xmma, tf32", {906, 49, 202, 72, 0.055});
inline constexpr Number kHopperTf32Linear{"older.hopper_tf32_linear",
                                          3.1e8,
                                          "multiply-adds",
                                          fitted,
                                          "from which products of tf32 run Hopper's kernels: right for 94 % of 611",
                                          sources::kOlderRows};
inline constexpr Number kHopperTf32Batched{
    "older.hopper_tf32_batched", 7e8, "multiply-adds", fitted, "the same of batched ones: right for 88 % of 362",
    sources::kOlderRows};
inline constexpr Number kTurnedTf32Share{
    "older.turned_tf32",
    0.65,
    "1",
    measured,
    "of the usual rate where both operands of tf32 lie across k",
    "gradients of weights on an H200 (data/measurements/h200_products_rows.csv.gz)"};
inline constexpr Number kGemvSteps{"gemv.steps",
                                   3,
                                   "1",
                                   assumed,
                                   "waits in line of a product of one row: the vector, the matrix, the sum's parts",
                                   "gemv2T_kernel_val and gemvx of cuBLAS"};
inline constexpr Whole kNarrowSimtTile{"simt.narrow_tile",
                                       64,
                                       "columns",
                                       measured,
                                       "sides up to which batched products take tiles no wider",
                                       "batched fp32 products on H200 (data/measurements/h200_small_kernels.csv.gz)"};
inline constexpr Whole kGemvColumns{"gemv.columns",
                                    8,
                                    "columns",
                                    measured,
                                    "of the result that a CTA of 128 threads has",
                                    "grids of gemv2T_kernel_val on H200 (data/measurements/h200_small_kernels.csv.gz)"};
inline constexpr Number kMisalignedShareBefore{"gemm.misaligned_share",
                                               0.4,
                                               "1",
                                               assumed,
                                               "the same where instructions are nearer to Turing's",
                                               "no rows; between 0.14 and 1",
                                               "volta mma amd intel"};
inline constexpr std::string_view kFarRows = "long linear rows of P100 in NeuSight's training table";
inline constexpr Number kTranslatedPage{
    "gemm.translated_page",        2, "MiB", published, "of memory that one translation covers",
    "NVIDIA's open kernel modules"};
inline constexpr Number kFarRowsPages{
    "gemm.far_rows_pages", 4, "pages", fitted, "that the rows of a step's tiles may lie in", kFarRows, "pascal"};
inline constexpr Number kFarRowsCost{"gemm.far_rows_cost",
                                     64,
                                     "results",
                                     fitted,
                                     "whose arithmetic takes as long as a row that waits for its translation",
                                     kFarRows,
                                     "pascal"};
inline constexpr Number kFarRowsDrift{"gemm.far_rows_drift",
                                      3,
                                      "1",
                                      fitted,
                                      "doublings of the waves after which CTAs have drifted apart",
                                      kFarRows,
                                      "pascal"};
inline constexpr std::string_view kLoading =
    "best rates of cuBLAS's fp32 kernels by tile in NeuSight's training tables: of the peak, 128 x 64 0.94 on V100, 32 "
    "x "
    "128 0.87, 64 x 32 0.77; 128 x 64 0.93 on A100, 32 x 128 0.87, 32 x 32 0.71; 64 x 64 0.87 on P100, 32 x 128 0.76";
inline constexpr Tunable kLoadingSlots = Constant{"simt.loading_slots",
                                                  20,
                                                  "multiply-adds",
                                                  fitted,
                                                  "whose slots an element of a tile takes on its way through registers",
                                                  kLoading,
                                                  "volta turing ampere ada"};
inline constexpr Tunable kPascalLoadingSlots =
    Constant{"simt.loading_slots",
             28,
             "multiply-adds",
             fitted,
             "whose slots an element of a tile takes on its way through registers",
             kLoading,
             "pascal"};
inline constexpr std::string_view kLaterSimt =
    "sm80_xmma kernels on H200 (data/measurements/h200_cublas_fp32.csv.gz): clocks of a multiply-add where more than "
    "twelve tiles share an SM: 128 x 128 1.31, 64 x 64 1.6, 32 x 32 2.5; 0.35 to 0.4 clocks of a result beside them; a "
    "step of a CTA alone on its SM 500 to 1,360 clocks, 430 more than its multiply-adds";
inline constexpr Tunable kLaterLoadingSlots =
    Constant{"simt.loading_slots",
             13,
             "multiply-adds",
             measured,
             "whose slots an element of a tile takes beyond those of the largest square tile",
             kLaterSimt,
             "hopper blackwell"};
inline constexpr Number kLargestSquare{"simt.largest_square", 128,        "results",         measured,
                                       "a side of that tile", kLaterSimt, "hopper blackwell"};
inline constexpr Tunable kLaterStepClocks = Constant{"simt.step_clocks",
                                                     430,
                                                     "clocks",
                                                     measured,
                                                     "that a step of eight elements waits where nothing hides it",
                                                     kLaterSimt,
                                                     "hopper blackwell"};
inline constexpr Tunable kLaterResultSlots = Constant{"simt.result_slots",
                                                      25,
                                                      "multiply-adds",
                                                      measured,
                                                      "whose slots a result takes before and after its sum",
                                                      kLaterSimt,
                                                      "hopper blackwell"};
inline constexpr Number kLoadingOverlap{
    "simt.loading_overlap", 4, "1", fitted, "p of the p-norm that joins them with the arithmetic", kLoading};
inline constexpr Number kMostCovered{"gemm.simt_choice.most_covered",
                                     3,
                                     "1",
                                     measured,
                                     "results that the tiles of a layer's fp32 product cover at most, over those of "
                                     "the kernel that covers fewest, before Hopper",
                                     "NeuSight's rows: 3 of 19,378 layers on V100, A100 and T4 cover more"};
inline constexpr Number kWorkspaceFloats{"gemm.split_workspace",
                                         262144,
                                         "floats",
                                         measured,
                                         "larger partial sums of a split are joined in place",
                                         "11,349 split linear rows of NeuSight, five GPUs"};

inline constexpr Number kMfmaChoiceJoin{"gemm.mfma_choice.join",
                                        8,
                                        "1",
                                        fitted,
                                        "p of the p-norm that joins arithmetic and L2 in the choice of a tile",
                                        "AITER's products: errors as with the larger of both (5.2 %, 12.9 for 12.7), "
                                        "but twice as many columns are not 2.7 times the time",
                                        "cdna3 cdna4"};
// rocBLAS: chosen so that tiles agree best with those seen on MI100.
inline constexpr Number kRocblasFeed{"gemm.rocblas.feed",
                                     16,
                                     "bytes/clock",
                                     fitted,
                                     "that reach a compute unit, in the choice of a tile",
                                     "tiles of NeuSight's rows on MI100",
                                     "amd"};
inline constexpr Number kRocblasTaskClocks{
    "gemm.rocblas.task_clocks",          500,  "clocks", fitted, "before the first step, in the choice of a tile",
    "tiles of NeuSight's rows on MI100", "amd"};

// cuBLAS on Hopper: cost of a tile in clocks, as its choices reveal it. These decide which tile runs, not how long it
// takes.
namespace wgmma_choice {
constexpr Number number(std::string_view name, double value, std::string_view unit, std::string_view about) {
  return Number{name, value, unit, fitted, about, sources::kWgmmaChoice, "wgmma"};
}
inline constexpr Number kEfficiency = number("gemm.wgmma_choice.efficiency", 0.81, "1", "share of the tensor peak");
inline constexpr Number kLeastColumns = number("gemm.wgmma_choice.least_columns", 91, "columns",
                                               "a wgmma of fewer is no faster: its rows come from shared memory");
inline constexpr Number kFeed = number("gemm.wgmma_choice.feed", 41, "bytes/clock", "that reach an SM");
inline constexpr Number kL2Efficiency = number("gemm.wgmma_choice.l2_efficiency", 0.5, "1", "share of the L2's peak");
inline constexpr Number kClusterShare =
    number("gemm.wgmma_choice.cluster_share", 0.283, "1", "of a tile's bytes that clusters of four and more ask of L2");
inline constexpr Number kPairShare = number("gemm.wgmma_choice.pair_share", 0.62, "1", "and clusters of two");
inline constexpr Number kStepClocks = number("gemm.wgmma_choice.step_clocks", 145, "clocks", "a step's latency");
inline constexpr Number kStepOverlap =
    number("gemm.wgmma_choice.step_overlap", 0.164, "1", "how much of the shorter of latency and work adds");
inline constexpr Number kEpilogue = number("gemm.wgmma_choice.epilogue", 0.525, "clocks/result", "of a first tile");
inline constexpr Number kNextEpilogue =
    number("gemm.wgmma_choice.next_epilogue", 0.476, "clocks/result", "of every further tile");
inline constexpr Number kSplitClocks = number("gemm.wgmma_choice.split_clocks", 1180, "clocks", "of splitting k");
inline constexpr Number kSplitBytes =
    number("gemm.wgmma_choice.split_bytes", 59, "bytes/partial sum", "at the L2's rate");
inline constexpr Whole kLeastSteps{"gemm.wgmma_choice.least_steps", 20,     "steps", fitted, "of one part of a split",
                                   sources::kWgmmaChoice,           "wgmma"};
inline constexpr Number kOddColumns = number("gemm.wgmma_choice.odd_columns", 1.077, "1",
                                             "columns that are no multiple of 32; half for odd multiples of 32");
inline constexpr Number kWide = number("gemm.wgmma_choice.wide", 0.993, "1", "more than 128 columns");
inline constexpr Number kSwapped = number("gemm.wgmma_choice.swapped", 0.999, "1", "wgmma's rows along m instead of n");
inline constexpr Number kSwappedTall = number("gemm.wgmma_choice.swapped_tall", 1.021, "1", "and 256 of them");
inline constexpr Number kSwappedClocks =
    number("gemm.wgmma_choice.swapped_clocks", 20, "clocks", "ties of small products go to the plain form");
}  // namespace wgmma_choice

// Mixtures of experts.
inline constexpr Tunable kMmaSyncSteps =
    Constant{"moe.mma_sync_steps",
             400.0 / 150,
             "1",
             measured,
             "steps of mma.sync over wgmma's: slope over the width at one or two tokens",
             sources::kMoeRows,
             "wgmma"};
inline constexpr Tunable kGroupedSteps = Constant{
    "moe.grouped_steps", 1.5, "1", measured, "the same of tiles below 64 on tcgen05", sources::kMoeRows, "tcgen05"};
// Small kernels around the experts' products: routing, sorting in several passes, descriptors, scales put in the order
// the tensor pipe wants.
inline constexpr std::string_view kMoeFloors =
    "set by hand on one and two tokens of AIConfigurator's MoE rows in narrow formats, on Hopper and both Blackwells";
inline constexpr Whole kCutlassFp4Helpers{
    "moe.helpers", 11, "1", assumed, "CUTLASS, fp4 weights and narrow rows", kMoeFloors, "", "CUTLASS, fp4"};
inline constexpr Whole kGeneratedHelpers{"moe.helpers", 2, "1", assumed, "TRT-LLM-gen", kMoeFloors, "", "TRT-LLM-gen"};
inline constexpr Whole kOtherNarrowHelpers{
    "moe.helpers", 4, "1", assumed, "Marlin, Triton and block-scaled kernels", kMoeFloors, "", "others"};
inline constexpr Number kMoeHelperTrips{
    "moe.helper_trips", 6, "1", assumed, "loads of a helper that wait for each other", kMoeFloors};
inline constexpr Tunable kExpertTaskClocks =
    Constant{"moe.task_clocks",
             5000,
             "clocks",
             measured,
             "a CTA finds its expert, rows and descriptors before its first step",
             sources::kMoeRows,
             "wgmma tcgen05"};
inline constexpr Number kTritonExpertStepClocks{
    "moe.triton_step",
    750,
    "clocks",
    fitted,
    "of a main-loop step of Triton's experts, whatever its depth",
    "SGLang's and vLLM's Triton rows on A100, H200 and GB200 (AIConfigurator), physics alone: of 500, 700 and 900",
    "",
    "Triton"};
inline constexpr Tunable kMmaSyncCost = Constant{"moe.mma_sync_cost",
                                                 1.8,
                                                 "1",
                                                 measured,
                                                 "times over the full rate that mma.sync takes on Hopper",
                                                 "SynPerf's rows of H20: 77 of 148 TFLOP/s with 32 rows, 142 with 64",
                                                 "wgmma"};
inline constexpr Number kCacheLine{"moe.line", 128, "bytes", published, "a line of L2", "CUDA programming guide"};
inline constexpr std::string_view kPieceRows =
    "SGLang's and vLLM 0.14's MoE rows on both sides of the change from 128-byte to 64-byte pieces";
inline constexpr Tunable kPieceL2 = Constant{
    "moe.piece_l2", 1.7, "1", measured, "L2 time of half lines", kPieceRows, "pascal volta mma wgmma amd intel"};
inline constexpr Tunable kPieceDram = Constant{
    "moe.piece_dram", 1.5, "1", measured, "DRAM time of half lines", kPieceRows, "pascal volta mma wgmma amd intel"};
inline constexpr Tunable kTcgenPieceL2 =
    Constant{"moe.piece_l2", 2.5, "1", measured, "L2 time of half lines", kPieceRows, "tcgen05"};
inline constexpr Tunable kTcgenPieceDram =
    Constant{"moe.piece_dram", 1.1, "1", measured, "DRAM time of half lines", kPieceRows, "tcgen05"};
inline constexpr Number kFewLeastShare{"moe.power_law.least",
                                       0.01,
                                       "rows",
                                       published,
                                       "least share of an expert, fewer rows than experts",
                                       "AIConfigurator's sampler of power-law loads"};
inline constexpr Number kFewMostShare{
    "moe.power_law.most", 2, "rows", published, "the most", "AIConfigurator's sampler of power-law loads"};
inline constexpr Number kManyMostShare{"moe.power_law.most_share",
                                       0.8,
                                       "1",
                                       published,
                                       "most of the tokens that one expert gets",
                                       "AIConfigurator's sampler of power-law loads"};

// Convolutions: how cuDNN would rank algorithms.
inline constexpr std::string_view kConvChoice =
    "algorithms cuDNN 8.9 took for NeuSight's convolutions, five cards, 59 to 67 % so predicted";
inline constexpr Number kConvLaunchClocks{"conv.launch_clocks",         3000,       "clocks", fitted,
                                          "what one more kernel costs", kConvChoice};
inline constexpr Number kWinogradFusedShare{
    "conv.winograd_fused_share", 0.6, "1", fitted, "of the peak: it transforms between its products", kConvChoice};
inline constexpr Number kWinogradBatchedShare{"conv.winograd_batched_share",   0.83,       "1", fitted,
                                              "of the peak, transforms apart", kConvChoice};
inline constexpr Number kWinogradTransformShare{"conv.winograd_transform_share",       0.5,        "1", fitted,
                                                "of the bandwidth: transforms stride", kConvChoice};

}  // namespace tilecast::constants
