// Linear attention and state-space kernels: arithmetic of the convolutions, and the loads of a stage that wait for each
// other.
#pragma once

#include "constants/constant.h"

namespace tilecast::constants {

namespace sources {
inline constexpr std::string_view kConvRate =
    "clocks of an SM for a CTA or an element, alike on the seven cards of AIConfigurator's gdn and mamba2 tables "
    "within a tenth";
inline constexpr std::string_view kScanFloors =
    "what the smallest shapes of AIConfigurator's gdn and kda tables take, alike on their cards in round trips to L2";
inline constexpr std::string_view kFlaSource = "flash-linear-attention's Triton sources, as vLLM and SGLang carry them";
}  // namespace sources

// causal_conv1d: Tri Dao's CUDA kernel of TensorRT-LLM, a CTA for each channel of a sequence, and the Triton kernel of
// vLLM and SGLang.
inline constexpr Tunable kCudaConvSlots = Constant{
    "scan.conv_slots", 19, "slots", measured, "of an element, those beyond the sequence's end included",
    sources::kConvRate, "", "CUDA"};
inline constexpr Tunable kTritonConvSlots =
    Constant{"scan.conv_slots", 32, "slots", measured, "of an element", sources::kConvRate, "", "Triton"};
inline constexpr Tunable kScalarConv = Constant{
    "scan.conv_scalar", 1.3, "1", measured, "arithmetic where a sequence is no multiple of eight: loads one by one",
    sources::kConvRate, "", "CUDA"};
inline constexpr Tunable kConvTrips =
    Constant{"scan.conv_trips", 5, "1", measured, "loads before the first token: sequence, offsets, state",
             sources::kScanFloors};
inline constexpr Tunable kCudaConvTrips = Constant{
    "scan.conv_trips", 2, "1", measured, "loads of a channel that its neighbours do not hide", sources::kScanFloors, "",
    "CUDA"};
inline constexpr Tunable kCudaUpdateTrips = Constant{
    "scan.conv_trips", 12, "1", measured, "loads of a channel's next token", sources::kScanFloors, "", "CUDA, decode"};
inline constexpr Tunable kConvTokenTrips = Constant{
    "scan.conv_token_trips", 0.5, "1", measured, "of a token, that its program's other tokens do not hide",
    sources::kScanFloors, "", "Triton"};

// Stages of a chunked scan.
inline constexpr Tunable kStageTrips = Constant{
    "scan.stage_trips", 7, "1", measured, "from a tile's first load to its last store", sources::kScanFloors};
inline constexpr Tunable kChunkTrips = Constant{
    "scan.chunk_trips", 4, "1", measured, "of a chunk in the kernel that walks them", sources::kScanFloors};
inline constexpr Tunable kFusedChunkTrips = Constant{
    "scan.chunk_trips", 4.5, "1", measured, "of a chunk in the kernel that walks them", sources::kScanFloors, "",
    "fused"};
inline constexpr Tunable kRecurrentTrips = Constant{
    "scan.recurrent_trips", 13, "1", measured, "before the first token: sequence, state slot, gates, state",
    sources::kScanFloors};
inline constexpr Tunable kFusedDecodeTrips = Constant{
    "scan.recurrent_trips", 22, "1", measured, "the same behind the convolution", sources::kScanFloors, "",
    "fused KDA decode"};
inline constexpr Tunable kTokenTrips =
    Constant{"scan.token_trips", 3, "1", measured, "of a further token", sources::kScanFloors};
// Small kernels around the fused ones, by what one token takes more than the kernel itself: norms, gates, copies of the
// state to and from its pool.
inline constexpr Whole kFusedHelpers{"scan.fused_helpers", 3, "1", measured, "FlashInfer's GDN on Hopper",
                                     sources::kScanFloors, "wgmma", "GDN"};
inline constexpr Whole kFusedHelpersTcgen{"scan.fused_helpers", 6, "1", measured, "FlashInfer's GDN on Blackwell",
                                          sources::kScanFloors, "tcgen05", "GDN"};
inline constexpr Whole kFusedHelpersKda{"scan.fused_helpers", 5, "1", measured, "FlashKDA", sources::kScanFloors, "",
                                        "KDA"};

}  // namespace tilecast::constants
