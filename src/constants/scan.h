// Linear attention and state-space kernels: arithmetic of the convolutions, and the loads of a stage that wait for each
// other.
#pragma once

#include "constants/constant.h"

namespace tilecast::constants {

namespace sources {
inline constexpr std::string_view kConvRate =
    "set by hand on the clocks of an SM for a CTA or an element, which are alike within a tenth on the seven cards of "
    "AIConfigurator's gdn and mamba2 tables";
inline constexpr std::string_view kScanFloors =
    "set by hand on the smallest and on the longest shapes of AIConfigurator's gdn and kda tables, in round trips to "
    "L2, "
    "which are alike on their cards";
inline constexpr std::string_view kUpdate =
    "set by hand on 26 shapes of vLLM's Triton kernel in a CUDA graph on an H200 (1 to 512 requests, 32 to 256 heads, "
    "states of 16 to 256, fp32 and bf16): 297 clocks of an SM per program at 250 instructions a thread";
}  // namespace sources

// causal_conv1d: Tri Dao's CUDA kernel of TensorRT-LLM, a CTA for each channel of a sequence, and the Triton kernel of
// vLLM and SGLang.
inline constexpr Tunable kCudaConvSlots =
    Constant{"scan.conv_slots",  19, "slots", assumed, "of an element, those beyond the sequence's end included",
             sources::kConvRate, "", "CUDA"};
inline constexpr Tunable kTritonConvSlots =
    Constant{"scan.conv_slots", 32, "slots", assumed, "of an element", sources::kConvRate, "", "Triton"};
inline constexpr Tunable kScalarConv = Constant{
    "scan.conv_scalar", 1.3, "1",   assumed, "arithmetic where a sequence is no multiple of eight: loads one by one",
    sources::kConvRate, "",  "CUDA"};
inline constexpr Tunable kConvTrips = Constant{
    "scan.conv_trips", 5, "1", assumed, "loads before the first token: sequence, offsets, state", sources::kScanFloors};
inline constexpr Tunable kCudaConvTrips =
    Constant{"scan.conv_trips",    2,  "1",   assumed, "loads of a channel that its neighbours do not hide",
             sources::kScanFloors, "", "CUDA"};
inline constexpr Tunable kCudaUpdateTrips = Constant{
    "scan.conv_trips", 12, "1", assumed, "loads of a channel's next token", sources::kScanFloors, "", "CUDA, decode"};
inline constexpr Tunable kConvTokenTrips =
    Constant{"scan.conv_token_trips", 0.5, "1",     assumed, "of a token, that its program's other tokens do not hide",
             sources::kScanFloors,    "",  "Triton"};

// Stages of a chunked scan.
inline constexpr Tunable kStageTrips =
    Constant{"scan.stage_trips", 7, "1", assumed, "from a tile's first load to its last store", sources::kScanFloors};
inline constexpr Tunable kChunkTrips =
    Constant{"scan.chunk_trips", 4, "1", assumed, "of a chunk in the kernel that walks them", sources::kScanFloors};
inline constexpr Tunable kFusedChunkTrips =
    Constant{"scan.chunk_trips",   4.5, "1",    assumed, "of a chunk in the kernel that walks them",
             sources::kScanFloors, "",  "fused"};
inline constexpr Tunable kRecurrentTrips =
    Constant{"scan.recurrent_trips", 13, "1", assumed, "before the first token: sequence, state slot, gates, state",
             sources::kScanFloors};
// Mamba-2's selective_state_update: a program of four warps for 512 elements of the state, whose instructions are so
// many that the state's bytes hardly matter: 16-bit states take 0.96 of the time of fp32 ones.
inline constexpr Tunable kUpdateTrips = Constant{
    "scan.recurrent_trips", 2, "1", assumed, "state slot, then the state", sources::kUpdate, "", "Mamba-2 decode"};
inline constexpr Tunable kUpdateSlots =
    Constant{"scan.update_slots", 180, "slots", assumed, "of a thread of Mamba-2's update, which has four elements",
             sources::kUpdate,    "",  ""};
inline constexpr Tunable kFusedDecodeTrips =
    Constant{"scan.recurrent_trips", 22, "1", assumed, "the same behind the convolution", sources::kScanFloors, "",
             "fused KDA decode"};
inline constexpr Tunable kTokenTrips =
    Constant{"scan.token_trips", 3, "1", assumed, "of a further token", sources::kScanFloors};
// Small kernels around the fused ones, by what one token takes more than the kernel itself: norms, gates, copies of the
// state to and from its pool.
inline constexpr Whole kFusedHelpers{"scan.fused_helpers", 3,       "1",  assumed, "FlashInfer's GDN on Hopper",
                                     sources::kScanFloors, "wgmma", "GDN"};
inline constexpr Whole kFusedHelpersTcgen{
    "scan.fused_helpers", 6, "1", assumed, "FlashInfer's GDN on Blackwell", sources::kScanFloors, "tcgen05", "GDN"};
inline constexpr Whole kFusedHelpersKda{"scan.fused_helpers", 5,  "1",  assumed, "FlashKDA",
                                        sources::kScanFloors, "", "KDA"};

}  // namespace tilecast::constants
