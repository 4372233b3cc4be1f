// Training in narrow formats, adapters: what casts and their products take.
#pragma once

#include "constants/constant.h"

namespace tilecast::constants {

namespace sources {
inline constexpr std::string_view kFp8Products =
    "medians over forward, input and weight gradients of data/measurements/h200_fp8_products.csv.gz against one scale "
    "a tensor with fast accumulation, models 1b, 3b and 8b; judged on 70b";
inline constexpr std::string_view kFp8Casts =
    "data/measurements/h200_fp8_casts.csv.gz at 8192 x 4096, over a copy of as many bytes";
}  // namespace sources

inline constexpr Number kSlowAccumulation{
    "narrow.slow_accumulation", 1.062, "1", measured, "longer without fast accumulation, one scale a tensor",
    sources::kFp8Products,      "wgmma"};
inline constexpr Number kBlockForward{
    "narrow.blocks", 1.16, "1", measured, "longer with a scale a block of 128", sources::kFp8Products, "wgmma", "forward"};
inline constexpr Number kBlockInput{"narrow.blocks", 1.15,    "1",
                                    measured,        "longer with a scale a block of 128",
                                    sources::kFp8Products, "wgmma", "input gradient"};
inline constexpr Number kBlockWeight{"narrow.blocks", 1.46,    "1",
                                     measured,        "longer with a scale a block of 128",
                                     sources::kFp8Products, "wgmma", "weight gradient"};
inline constexpr Number kEagerTranspose{"narrow.eager_transpose",
                                        0.84,
                                        "1",
                                        measured,
                                        "PyTorch's transposition of fp8 over that of as many bf16 numbers",
                                        sources::kFp8Casts};
inline constexpr Number kCompiledTurn{"narrow.compiled_turn",
                                      1.3,
                                      "1",
                                      measured,
                                      "Inductor's cast that writes its result transposed, over one that does not",
                                      sources::kFp8Casts};
inline constexpr Number kCompiledBoth{"narrow.compiled_both",
                                      1.7,
                                      "1",
                                      measured,
                                      "Inductor's cast that writes both, over a copy of as many bytes",
                                      sources::kFp8Casts};
inline constexpr Number kCompiledRescale{"narrow.compiled_rescale",
                                         6,
                                         "1",
                                         measured,
                                         "Inductor's scaling of a product by rows and columns, which computes both scales "
                                         "anew for every number, over a copy of it",
                                         "data/measurements/h200_training_kernels.csv.gz, 8b with 8192 tokens, fp8_row"};
inline constexpr Number kNf4Bits{"qlora.bits",
                                 4.127,
                                 "bit",
                                 published,
                                 "of a weight in NF4, with an 8-bit scale for 64 of them and an fp32 one for 256 scales",
                                 "QLoRA (arXiv 2305.14314), section 3: 0.127 bits a parameter for double quantisation"};

}  // namespace tilecast::constants
