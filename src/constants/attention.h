// Attention: waiting times of the engines' kernels, their helpers, the arithmetic of a score.
#pragma once

#include "constants/constant.h"

namespace tilecast::constants {

namespace sources {
inline constexpr std::string_view kDecodeFit =
    "coordinate descent on the decode rows of six cards in AIConfigurator, held-out shapes left out; one set for all";
inline constexpr std::string_view kFa3WgmmaFit =
    "clocks of a KiB in bf16 from long decodes of vLLM and SGLang on the H200 (AIConfigurator), which DRAM and no loop "
    "holds back; the rest as before Hopper";
inline constexpr std::string_view kPrefillFit = "AIConfigurator's prefill rows of six cards";
inline constexpr std::string_view kQueryPasses =
    "TensorRT-LLM's prompts of 64 and 128 tokens in large batches over the other engines' on the same card "
    "(AIConfigurator)";
inline constexpr std::string_view kPrefillPasses =
    "short prompts in large batches on A100 and L40S, which DRAM holds back (AIConfigurator)";
inline constexpr std::string_view kHelperSteps =
    "what a helper adds to the smallest decode shapes on A100, L40S and H200 (AIConfigurator)";
inline constexpr std::string_view kAmdDecoders =
    "no table measures these kernels alone; tasks and steps as FlashAttention 2's, next to nothing where keys decide";
inline constexpr std::string_view kPagedFit =
    "Argonne's LLM-Inference-Bench on MI300X, least squares over its Llama-2-7B, Llama-3-70B and Mixtral rows; judged "
    "on Llama-3-8B, Llama-2-70B, Qwen2-7B and Mistral-7B";
}  // namespace sources

// Clocks of a decoder's CTA.
struct DecoderConstants {
  Tunable task, task_dim, step, kib, fp8_kib, row, join;
};
struct DecoderFigures {
  double task, task_dim, step, kib, fp8_kib, row, join;
};
constexpr DecoderConstants decoder_constants(std::string_view decoder, const DecoderFigures& f,
                                             ConstantKind kind = fitted, std::string_view source = sources::kDecodeFit,
                                             std::string_view cards = "") {
  const auto one = [&](std::string_view name, double value, std::string_view unit, std::string_view about) {
    return Constant{name, value, unit, kind, about, source, cards, decoder};
  };
  return {one("attention.decode.task", f.task, "clocks", "of a CTA"),
          one("attention.decode.task_dim", f.task_dim, "clocks", "that grow with the head dimension, at 128"),
          one("attention.decode.step", f.step, "clocks", "of a step of keys that nothing hides"),
          one("attention.decode.kib", f.kib, "clocks/KiB", "of keys and values in bf16"),
          one("attention.decode.fp8_kib", f.fp8_kib, "clocks/KiB", "of keys and values in fp8"),
          one("attention.decode.row", f.row, "clocks", "of a query head"),
          one("attention.decode.join", f.join, "clocks", "of joining split results")};
}
// clang-format off
inline constexpr DecoderConstants kFa2Decoder = decoder_constants("FlashAttention 2",
    {.task = 5800, .task_dim = 3000, .step = 230, .kib = 12, .fp8_kib = 60, .row = 82, .join = 2000});
inline constexpr DecoderConstants kFa3Decoder = decoder_constants("FlashAttention 3",
    {.task = 2500, .task_dim = 3800, .step = 1100, .kib = 62, .fp8_kib = 65, .row = 5, .join = 2000});
inline constexpr DecoderConstants kFa3WgmmaDecoder = decoder_constants("FlashAttention 3, wgmma",
    {.task = 2500, .task_dim = 3800, .step = 1100, .kib = 35, .fp8_kib = 65, .row = 5, .join = 2000}, fitted,
    sources::kFa3WgmmaFit);
inline constexpr DecoderConstants kGeneratedDecoder = decoder_constants("TRT-LLM-gen",
    {.task = 310, .task_dim = 1900, .step = 260, .kib = 11, .fp8_kib = 18, .row = 120, .join = 3400});
inline constexpr DecoderConstants kXqaDecoder = decoder_constants("XQA",
    {.task = 6000, .task_dim = 4400, .step = 58, .kib = 25, .fp8_kib = 160, .row = 20, .join = 2000});
inline constexpr DecoderConstants kXqaWgmmaDecoder = decoder_constants("XQA, wgmma",
    {.task = 2100, .task_dim = 450, .step = 1700, .kib = 13, .fp8_kib = 6.1, .row = 190, .join = 2000});
inline constexpr DecoderConstants kMmhaDecoder = decoder_constants("masked multi-head attention",
    {.task = 7400, .task_dim = 170, .step = 890, .kib = 100, .fp8_kib = 150, .row = 42, .join = 2000});
inline constexpr DecoderConstants kFlashinferDecoder = decoder_constants("FlashInfer",
    {.task = 5000, .task_dim = 6600, .step = 1600, .kib = 23, .fp8_kib = 160, .row = 130, .join = 2000});
inline constexpr DecoderConstants kFlashinferVectorDecoder = decoder_constants("FlashInfer, vector pipe",
    {.task = 4800, .task_dim = 140, .step = 500, .kib = 100, .fp8_kib = 100, .row = 20, .join = 2000});
inline constexpr DecoderConstants kCudnnDecoder = decoder_constants("cuDNN",
    {.task = 3000, .task_dim = 500, .step = 600, .kib = 18, .fp8_kib = 18, .row = 10, .join = 2000});
inline constexpr DecoderConstants kTritonDecoder = decoder_constants("Triton",
    {.task = 12000, .task_dim = 16, .step = 1200, .kib = 96, .fp8_kib = 220, .row = 450, .join = 2000});
inline constexpr DecoderConstants kPagedDecoder = decoder_constants("vLLM's paged attention",
    {.task = 500, .task_dim = 0, .step = 1, .kib = 0, .fp8_kib = 0, .row = 0, .join = 2000}, assumed,
    sources::kAmdDecoders, "amd");
inline constexpr DecoderConstants kAmdDecoder = decoder_constants("AITER's and ROCm's paged attention",
    {.task = 5800, .task_dim = 3000, .step = 230, .kib = 12, .fp8_kib = 12, .row = 82, .join = 2000}, assumed,
    sources::kAmdDecoders, "amd");
// clang-format on
// vLLM's kernels on AMD go by arithmetic, not by bytes: those of the plain kernel widen each element to fp32 by
// itself (bf16 without an instruction for it), those of the ROCm kernel fill a quarter of its 4 x 4 products or less.
inline constexpr Tunable kPagedHalf = Constant{"attention.decode.key_head",
                                               121,
                                               "clocks",
                                               fitted,
                                               "of a CU, for a key of 128 elements and one query head",
                                               sources::kPagedFit,
                                               "amd",
                                               "vLLM's paged_attention_v1, fp16"};
inline constexpr Tunable kPagedBfloat = Constant{"attention.decode.key_head",
                                                 228,
                                                 "clocks",
                                                 fitted,
                                                 "of a CU, for a key of 128 elements and one query head",
                                                 sources::kPagedFit,
                                                 "amd",
                                                 "vLLM's paged_attention_v1, bf16"};
inline constexpr Tunable kRocmPaged = Constant{"attention.decode.key_head",
                                               53,
                                               "clocks",
                                               fitted,
                                               "of a CU, for a key of 128 elements and one query head",
                                               sources::kPagedFit,
                                               "amd",
                                               "vLLM's paged_attention_rocm of 2024"};
inline constexpr Number kReferenceHeadDim{"attention.decode.reference_dim",
                                          128,
                                          "elements",
                                          fitted,
                                          "head dimension that task_dim is of",
                                          sources::kDecodeFit};
inline constexpr Tunable kMmhaFp8 = Constant{"attention.decode.mmha_fp8",
                                             3,
                                             "1",
                                             measured,
                                             "an fp8 cache before Hopper costs a task and its bytes so many times",
                                             "L40S rows in AIConfigurator, at any length",
                                             "turing ampere ada",
                                             "masked multi-head attention"};

// What a prefill task waits for.
struct PrefillConstants {
  Tunable task, products;
};
constexpr PrefillConstants prefill_constants(std::string_view kernel, std::string_view cards, double task,
                                             double products) {
  return {
      Constant{"attention.prefill.task", task, "clocks", fitted, "that a task's key blocks do not explain",
               sources::kPrefillFit, cards, kernel},
      Constant{"attention.prefill.products", products, "1", fitted,
               "products' time at peak rate that nothing else on the SM fills", sources::kPrefillFit, cards, kernel}};
}
inline constexpr PrefillConstants kFa2Prefill = prefill_constants("FlashAttention 2", "", 3000, 1.5);
inline constexpr PrefillConstants kFa3Prefill = prefill_constants("FlashAttention 3", "", 6000, 1.5);
inline constexpr PrefillConstants kBlackwellPrefill = prefill_constants("TRT-LLM-gen", "", 9000, 1.5);
inline constexpr PrefillConstants kTritonPrefill = prefill_constants("Triton", "pascal volta mma amd intel", 3000, 5);
namespace sources {
inline constexpr std::string_view kTritonEncoders =
    "SGLang's encoder rows on L40S and RTX PRO 6000 (AIConfigurator), heads of 64, 72 and 80";
}  // namespace sources
inline constexpr Tunable kTritonEightWarps = Constant{
    "attention.prefill.eight_warps", 0.35,  "1",     fitted, "of the waits of four warps, where a CTA has eight",
    sources::kTritonEncoders,        "mma", "Triton"};
inline constexpr Tunable kTritonSpill = Constant{"attention.prefill.spill",
                                                 0.0028,
                                                 "clocks",
                                                 fitted,
                                                 "of an unaligned element, for a register that its thread lacks",
                                                 sources::kTritonEncoders,
                                                 "mma",
                                                 "Triton"};
inline constexpr Number kTritonOtherRegisters{"attention.prefill.other_registers",
                                              72,
                                              "registers",
                                              fitted,
                                              "of a thread of Triton's kernels, beside scores, results and queries",
                                              sources::kTritonEncoders};
inline constexpr Number kTritonPassedBlock{
    "attention.prefill.passed_block",
    0.5,
    "1",
    fitted,
    "of a block's work, where Triton's kernel masks all of it: keys before a window",
    "SGLang's windowed rows on L40S and RTX PRO 6000 (AIConfigurator): 0.3 to 1"};
namespace sources {
inline constexpr std::string_view kUnifiedRows =
    "vLLM's Triton rows on L40S, RTX PRO 6000 and B200 (AIConfigurator), heads of 192: the same clocks on each";
}  // namespace sources
inline constexpr Number kUnifiedTaskClocks{"attention.prefill.unified_task",
                                           2400,
                                           "clocks",
                                           fitted,
                                           "of an SM, for a CTA of vLLM's Triton kernel",
                                           sources::kUnifiedRows,
                                           "",
                                           "Triton"};
inline constexpr Number kUnifiedStepClocks{"attention.prefill.unified_step",
                                           1950,
                                           "clocks",
                                           fitted,
                                           "of an SM, for 32 keys and 16 rows of such a CTA",
                                           sources::kUnifiedRows,
                                           "",
                                           "Triton"};
inline constexpr Number kUnifiedDims{"attention.prefill.unified_dims",
                                     512,
                                     "elements",
                                     fitted,
                                     "padded dimensions of K and V that such a step is of",
                                     sources::kUnifiedRows,
                                     "",
                                     "Triton"};
inline constexpr PrefillConstants kTritonWgmmaPrefill = prefill_constants("Triton", "wgmma", 6000, 8);
inline constexpr PrefillConstants kTritonTcgenPrefill = prefill_constants("Triton", "tcgen05", 5000, 10);

// Main loops whose time is known by score. A CTA's products, and what of its softmax they do not hide.
namespace sources {
inline constexpr std::string_view kH200Half =
    "half of the shapes of data/measurements/h200_attention.csv.gz, clocks as counted on the card";
inline constexpr std::string_view kAmdLoops =
    "AITER near 550 TFLOP/s on MI300X at long prompts and ahead of Triton by 18 to 62 % "
    "(midiareshadi.github.io/blog/attn-dsl-bench), Composable Kernel between them; no row was fitted";
inline constexpr std::string_view kLikeCudnn = "as cuDNN's on Hopper, which is built alike";
}  // namespace sources
struct LoopConstants {
  Tunable task, score, products, wide, window;
};
struct LoopFigures {
  double task, score, products, wide, window;
};
constexpr LoopConstants loop_constants(std::string_view kernel, ConstantKind kind, std::string_view source,
                                       std::string_view cards, const LoopFigures& f) {
  const auto one = [&](std::string_view name, double value, std::string_view unit, std::string_view about) {
    return Constant{name, value, unit, kind, about, source, cards, kernel};
  };
  return {
      one("attention.loop.task", f.task, "clocks", "of a tile: prologue, epilogue, first loads"),
      one("attention.loop.score", f.score, "clocks", "of a score that no product hides"),
      one("attention.loop.products", f.products, "1", "time of the products, over that at their instructions' rate"),
      one("attention.loop.wide", f.wide, "1", "the same again, heads beyond 128: tiles are cut smaller"),
      one("attention.loop.window", f.window, "clocks", "of a score under a window: every block is masked")};
}
// clang-format off
inline constexpr LoopConstants kCudnnForward = loop_constants("cuDNN", fitted, sources::kH200Half, "wgmma",
    {.task = 880, .score = 0.07, .products = 0.78, .wide = 1.26, .window = 0.09});
inline constexpr LoopConstants kCudnnBackward = loop_constants("cuDNN, gradients", fitted, sources::kH200Half, "wgmma",
    {.task = 8200, .score = 0.08, .products = 1.27, .wide = 1.8, .window = 0.01});
inline constexpr LoopConstants kAsyncBackward = loop_constants("FlashAttention 3 and 4, gradients", assumed,
    sources::kLikeCudnn, "", {.task = 8200, .score = 0.08, .products = 1.27, .wide = 1.8, .window = 0.01});
inline constexpr LoopConstants kFa2Forward = loop_constants("FlashAttention 2", fitted, sources::kH200Half,
    "wgmma tcgen05", {.task = 1900, .score = 0.04, .products = 1.45, .wide = 1.2, .window = 0.135});
inline constexpr LoopConstants kFa2Backward = loop_constants("FlashAttention 2, gradients", fitted, sources::kH200Half,
    "", {.task = 8500, .score = 0.076, .products = 1.75, .wide = 1.24, .window = 0.01});
inline constexpr LoopConstants kEfficientForward = loop_constants("xFormers", fitted, sources::kH200Half, "",
    {.task = 2000, .score = 0.23, .products = 2.3, .wide = 1.2, .window = 0.1});
inline constexpr LoopConstants kEfficientBackward = loop_constants("xFormers, gradients", fitted, sources::kH200Half,
    "", {.task = 8000, .score = 0.52, .products = 3.4, .wide = 1.2, .window = 0.1});
inline constexpr LoopConstants kCkForward = loop_constants("Composable Kernel", assumed, sources::kAmdLoops, "amd",
    {.task = 3000, .score = 0, .products = 2.8, .wide = 1.2, .window = 0.1});
inline constexpr LoopConstants kAiterForward = loop_constants("AITER", assumed, sources::kAmdLoops, "cdna3 cdna4",
    {.task = 3000, .score = 0, .products = 2.3, .wide = 1.2, .window = 0.1});
// clang-format on
inline constexpr std::string_view kFirstTile =
    "what kernels of 5 to 50 us take more than their tiles explain, medians (data/measurements/h200_sweep.csv.gz)";
inline constexpr Tunable kFirstTileCudnn = Constant{"attention.loop.first",
                                                    6000,
                                                    "clocks",
                                                    measured,
                                                    "of a kernel's first tile, that later ones hide",
                                                    kFirstTile,
                                                    "",
                                                    "cuDNN"};
inline constexpr Tunable kFirstTileOthers = Constant{"attention.loop.first",
                                                     4000,
                                                     "clocks",
                                                     measured,
                                                     "of a kernel's first tile, that later ones hide",
                                                     kFirstTile,
                                                     "",
                                                     "others"};
inline constexpr Tunable kPaddedProducts = Constant{"attention.loop.padded",
                                                    1.12,
                                                    "1",
                                                    measured,
                                                    "products where FlashAttention 2 has to guard its loads: heads "
                                                    "narrower than the kernel's",
                                                    "heads of 72 and 80 beside 96 on an H200 (h200_attention.csv.gz)"};
inline constexpr Number kMmaSyncShare{"attention.mma_sync_share",
                                      0.63,
                                      "1",
                                      published,
                                      "of the tensor pipe's rate that mma.sync reaches",
                                      "62.9 % (Luo et al., Dissecting the NVIDIA Hopper Architecture, 2024)",
                                      "wgmma"};
inline constexpr Number kMmaSyncShareTcgen{"attention.mma_sync_share",
                                           0.31,
                                           "1",
                                           assumed,
                                           "of the tensor pipe's rate that mma.sync reaches",
                                           "operations a clock of an SM as on Hopper",
                                           "tcgen05"};

inline constexpr Number kTrtllmQueryPasses{"attention.prefill.query_passes",
                                           3,
                                           "1",
                                           measured,
                                           "readings and writings of queries around the kernel",
                                           sources::kQueryPasses,
                                           "",
                                           "trtllm"};
inline constexpr Number kTrtllmTcgenQueryPasses{"attention.prefill.query_passes",
                                                5,
                                                "1",
                                                measured,
                                                "readings and writings of queries around the kernel",
                                                sources::kQueryPasses,
                                                "tcgen05",
                                                "trtllm"};
inline constexpr Number kTrtllmKeyPasses{
    "attention.prefill.key_passes", 2,  "1",     measured, "readings and writings of keys and values around the kernel",
    sources::kPrefillPasses,        "", "trtllm"};
inline constexpr Number kServedKeyPasses{"attention.prefill.key_passes",
                                         3,
                                         "1",
                                         measured,
                                         "readings and writings of keys and values around the kernel",
                                         sources::kPrefillPasses,
                                         "",
                                         "vllm, sglang"};
inline constexpr Whole kFlashinferPlanKernels{"attention.prefill.plan_kernels",
                                              4,
                                              "kernels",
                                              measured,
                                              "small kernels before FlashInfer's prefill",
                                              "the smallest prefill rows of GB200 and B200 (AIConfigurator)",
                                              "tcgen05",
                                              "FlashInfer"};

inline constexpr Number kFa2CombineSteps{
    "attention.combine_steps", 16, "loads",           measured, "dependent loads of the kernel that joins split keys",
    sources::kHelperSteps,     "", "FlashAttention 2"};
inline constexpr Number kCombineSteps{
    "attention.combine_steps", 4,  "loads", measured, "dependent loads of the kernel that joins split keys",
    sources::kHelperSteps,     "", "others"};
inline constexpr Number kFa2CopySteps{
    "attention.copy_steps", 7,  "loads",           measured, "dependent loads of a copy of queries or results",
    sources::kHelperSteps,  "", "FlashAttention 2"};
inline constexpr Number kTrtllmCopySteps{
    "attention.copy_steps", 4,  "loads", measured, "dependent loads of rotating queries and storing keys",
    sources::kHelperSteps,  "", "trtllm"};
inline constexpr Number kCastSteps{
    "attention.copy_steps", 3,  "loads",       measured, "dependent loads of a cast to fp8",
    sources::kHelperSteps,  "", "vllm, sglang"};

inline constexpr Number kFa3MmaStartClocks{"attention.decode.start",
                                           6500,
                                           "clocks",
                                           fitted,
                                           "before the first key: FlashAttention 3's floor over its floor on Hopper",
                                           "the smallest decodes of SGLang on A100 and H200 (AIConfigurator)",
                                           "mma",
                                           "FlashAttention 3"};
inline constexpr Number kGeneratedStartClocks{
    "attention.decode.start",
    7000,
    "clocks",
    fitted,
    "before the first key: a TRT-LLM-gen kernel's floor over other decoders'",
    "decodes below 15 us of GB200 (AIConfigurator, vLLM and SGLang), Blackwell left out: 3 to 4 us short",
    "tcgen05",
    "vllm, sglang"};

// Arithmetic of a score.
inline constexpr Number kForwardScoreSlots{"attention.forward.score_slots",
                                           3.5,
                                           "slots",
                                           published,
                                           "scale and subtract the maximum, maximum, sum, convert (a packed half)",
                                           "counted in FlashAttention 2's main loop"};
inline constexpr Number kBackwardScoreSlots{"attention.backward.score_slots",
                                            4.5,
                                            "slots",
                                            published,
                                            "exponent, P (dP - D), two conversions, scaling",
                                            "counted in FlashAttention 2's backward loop"};
inline constexpr Number kPolynomialShare{"attention.polynomial_share",
                                         0.25,
                                         "1",
                                         assumed,
                                         "of exponentials computed as polynomials on the FMA pipe",
                                         "FlashAttention 4's description says about a quarter",
                                         "tcgen05"};
inline constexpr Number kPolynomialSlots{"attention.polynomial_slots",
                                         8,
                                         "slots",
                                         assumed,
                                         "of a degree-3 polynomial with range reduction",
                                         "counted from the formula, not from its code",
                                         "tcgen05"};

// Thresholds in the libraries' own choices.
inline constexpr Number kPackThreshold{"attention.pack_threshold",
                                       0.9,
                                       "1",
                                       published,
                                       "heads of a group are packed where rows fill tiles worse than this share",
                                       "FlashAttention hopper/heuristics.h, should_pack_gqa"};
inline constexpr Number kSplitEfficiency{"attention.split_efficiency",
                                         0.85,
                                         "1",
                                         published,
                                         "fewest splits within this share of the best wave efficiency",
                                         "FlashAttention csrc/flash_attn/flash_api.cpp, num_splits_heuristic"};
inline constexpr Number kEnoughTiles{"attention.enough_tiles",
                                     0.8,
                                     "1",
                                     published,
                                     "tiles that fill this share of the SMs are not split",
                                     "FlashAttention csrc/flash_attn/flash_api.cpp, num_splits_heuristic"};

}  // namespace tilecast::constants
