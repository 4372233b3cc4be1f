// Training in narrow formats, adapters: what casts and their products take.
#pragma once

#include "constants/constant.h"

namespace tilecast::constants {

namespace sources {
inline constexpr std::string_view kFp8Products =
    "medians of data/measurements/h200_fp8_products.csv.gz, models 1b, 3b and 8b; 70b has 1.053 without fast "
    "accumulation, 1.143, 1.159 and 1.455 with blocks";
inline constexpr std::string_view kFp8Casts = "medians over the sizes of data/measurements/h200_fp8_casts.csv.gz";
}  // namespace sources

inline constexpr Number kSlowAccumulation{
    "narrow.slow_accumulation", 1.073,  "1", measured, "longer without fast accumulation, one scale a tensor",
    sources::kFp8Products,      "wgmma"};
inline constexpr Number kBlockForward{
    "narrow.blocks",       1.164,   "1",      measured, "longer with a scale a block of 128",
    sources::kFp8Products, "wgmma", "forward"};
inline constexpr Number kBlockInput{
    "narrow.blocks", 1.174,           "1", measured, "longer with a scale a block of 128", sources::kFp8Products,
    "wgmma",         "input gradient"};
inline constexpr Number kBlockWeight{
    "narrow.blocks",  1.472, "1", measured, "longer with a scale a block of 128", sources::kFp8Products, "wgmma",
    "weight gradient"};
inline constexpr Number kEagerTranspose{
    "narrow.eager_transpose", 0.9, "1", measured, "PyTorch's transposition of fp8 over that of as many bf16 numbers",
    sources::kFp8Casts};
inline constexpr Number kCompiledTurn{"narrow.compiled_turn",
                                      1.11,
                                      "1",
                                      measured,
                                      "Inductor's cast that writes its result transposed, over one that does not",
                                      sources::kFp8Casts};
inline constexpr Number kCompiledBoth{
    "narrow.compiled_both", 1.63, "1", measured, "Inductor's cast that writes both, over a copy of as many bytes",
    sources::kFp8Casts};
inline constexpr Number kCompiledRescale{
    "narrow.compiled_rescale",
    6,
    "1",
    measured,
    "Inductor's scaling of a product by rows and columns, which computes both scales "
    "anew for every number, over a copy of it",
    "data/measurements/h200_training_kernels.csv.gz, 8b with 8192 tokens, fp8_row"};
inline constexpr Number kRingRound{"context.ring_round",
                                   16,
                                   "B",
                                   published,
                                   "moved for each number of attention's result in each round of a ring: forward the "
                                   "round's result read, the sum in fp32 "
                                   "read and written; backward two gradients of queries read and one written",
                                   "Transformer Engine, context_parallel.py: flash_attn_fwd_out_correction, and dq of "
                                   "AttnFuncWithCPAndKVP2P.backward"};
inline constexpr Number kRingOnce{
    "context.ring_once",
    2,
    "B",
    published,
    "... and once: the first round reads no sum, the last is narrowed",
    "Transformer Engine, context_parallel.py: flash_attn_fwd_out_correction_init, out.to(dtype)"};
inline constexpr Number kNf4Bits{
    "qlora.bits",
    4.127,
    "bit",
    published,
    "of a weight in NF4, with an 8-bit scale for 64 of them and an fp32 one for 256 scales",
    "QLoRA (arXiv 2305.14314), section 3: 0.127 bits a parameter for double quantisation"};
inline constexpr Number kNanotronKernels{
    "framework.nanotron_kernels",
    1.11,
    "1",
    fitted,
    "longer a kernel of nanotron's takes than one counted by its recipe; its cause is not known",
    "the Ultra-Scale playbook's runs of 1B and 3B models on one node with large micro-batches; 8B judges"};

}  // namespace tilecast::constants
