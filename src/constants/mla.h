// Multi-head latent attention: what the engines' kernels wait for, and what stands around them.
#pragma once

#include "constants/constant.h"

namespace tilecast::constants {

namespace sources {
inline constexpr std::string_view kMlaRows =
    "set by hand on AIConfigurator's generation_mla rows of seven cards: short caches in large batches (tasks), long "
    "ones (blocks)";
inline constexpr std::string_view kMlaFloors = "set by hand on the smallest shapes of AIConfigurator's MLA tables";
inline constexpr std::string_view kMlaHosts = "medians of vLLM 0.14's smallest shapes in AIConfigurator's MLA tables";
}  // namespace sources

// Clocks of a decoder's CTA: once a request, for each of its rows, for each block of keys.
struct MlaConstants {
  Tunable task, row, block;
};
constexpr MlaConstants mla_constants(std::string_view kernel, double task, double row, double block) {
  return {Constant{"mla.decode.task", task, "clocks", assumed, "of a request, whatever its keys", sources::kMlaRows, "",
                   kernel},
          Constant{"mla.decode.row", row, "clocks", assumed, "of a query row", sources::kMlaRows, "", kernel},
          Constant{"mla.decode.block", block, "clocks", assumed, "of a block of keys, alone on its SM",
                   sources::kMlaRows, "", kernel}};
}
inline constexpr MlaConstants kFlashMla = mla_constants("FlashMLA and FlashAttention 3", 11000, 130, 2600);
inline constexpr MlaConstants kGeneratedMla = mla_constants("TRT-LLM-gen", 8000, 90, 1300);
inline constexpr MlaConstants kUnsplitMla = mla_constants("TensorRT-LLM, mma.sync", 3000, 60, 12500);
inline constexpr MlaConstants kTritonMla = mla_constants("Triton", 12000, 100, 6200);
inline constexpr MlaConstants kXqaMla = mla_constants("XQA, 128 heads in fp8", 3000, 60, 2850);
inline constexpr Tunable kIdleMla =
    Constant{"mla.decode.idle", 2500, "clocks", assumed, "of a CTA that finds its share of the keys empty",
             sources::kMlaRows, "",   "Triton"};
inline constexpr Tunable kUnsplitFp8 = Constant{"mla.decode.fp8_block",
                                                0.67,
                                                "1",
                                                assumed,
                                                "of a block's clocks where the card multiplies in fp8",
                                                sources::kMlaRows,
                                                "12.0 12.1",
                                                "TensorRT-LLM, mma.sync"};

inline constexpr Whole kMlaDecodeHelpers{
    "mla.helpers", 1, "1", assumed, "small kernels around a decode: rotation, cache, lengths", sources::kMlaFloors};
inline constexpr Whole kMlaPrefillHelpers{"mla.helpers",       4,  "1",      assumed, "small kernels around a prefill",
                                          sources::kMlaFloors, "", "prefill"};
inline constexpr Number kMlaHelperTrips{
    "mla.helper_trips", 6, "1", assumed, "loads of a helper that wait for each other", sources::kMlaFloors};
inline constexpr Number kMlaHostFlash{
    "mla.host", 164, "us", measured, "host time of a layer outside a graph, FlashAttention 3", sources::kMlaHosts};
inline constexpr Number kMlaHostFlashMla{
    "mla.host",         209, "us",      measured, "host time of a layer outside a graph, FlashMLA",
    sources::kMlaHosts, "",  "FlashMLA"};
inline constexpr Number kMlaHostTriton{
    "mla.host", 320, "us", measured, "host time of a layer outside a graph, Triton", sources::kMlaHosts, "", "Triton"};

}  // namespace tilecast::constants
