// The cost of a configuration of the fused MoE kernel in Triton.
#pragma once

#include "constants/constant.h"

namespace tilecast::constants {

namespace sources {
inline constexpr std::string_view kTritonFit =
    "bf16, Triton 3.6 on H200, shapes of Mixtral-8x7B and Qwen3-30B-A3B (data/measurements/h200_fused_moe*.csv.gz)";
}  // namespace sources

namespace triton {
constexpr Number number(std::string_view name, double value, std::string_view unit, std::string_view about) {
  return Number{name, value, unit, fitted, about, sources::kTritonFit};
}
inline constexpr Number kWarpgroupShared =
    number("triton.warpgroup_shared", 1.38, "1", "time of wgmma's shared-memory reads over the peak rate's");
inline constexpr Number kLoadSlots =
    number("triton.load_slots", 32, "slots", "warp instructions per 512 bytes loaded: addresses, masks, the copy");
inline constexpr Number kLatency = number("triton.latency", 1250, "clocks", "from a load to its data under load");
inline constexpr Number kPiece =
    number("triton.piece", 0.16, "1", "DRAM time added by pieces of 128 bytes; longer ones add less");
inline constexpr Number kPrologue = number("triton.prologue", 5250, "clocks",
                                           "of a CTA around its loop: three dependent loads, first tile, last store");
inline constexpr Number kStepNorm = number("triton.step_norm", 5, "1", "p of the p-norm of a step's parts");
inline constexpr Number kDramNorm = number("triton.dram_norm", 2.6, "1", "p of the p-norm of SMs and DRAM");
inline constexpr Number kIdleCta = number("triton.idle_cta", 1200, "clocks", "of a CTA that finds no rows");
inline constexpr Number kPortBytes{
    "triton.port", 64, "bytes/clock", published, "from L2 into an SM", "microbenchmarks of A100 and H100"};
inline constexpr Number kDramShare{"triton.dram_share",
                                   0.923,
                                   "1",
                                   measured,
                                   "of DRAM's rate at the pins",
                                   "4537 of 4917 GB/s on H200 (data/measurements/h200_physics_full.csv)"};
inline constexpr Number kLaunch{"triton.launch",
                                0.57,
                                "us",
                                measured,
                                "one of many launches in a graph",
                                "data/measurements/h200_physics_full.csv"};
inline constexpr Number kMmaOnHopper{"triton.mma_on_hopper",
                                     0.62,
                                     "1",
                                     published,
                                     "of wgmma's rate that mma.sync reaches",
                                     "Luo et al., Benchmarking and Dissecting the Nvidia Hopper GPU Architecture, 2024",
                                     "wgmma"};
inline constexpr Number kCachedShare{"triton.cached_share",
                                     0.7,
                                     "1",
                                     assumed,
                                     "of the cache: what is smaller is read from it",
                                     "between the cards' usable shares"};
inline constexpr Number kRegisters{"triton.registers",
                                   36,
                                   "registers",
                                   measured,
                                   "of a thread besides accumulators and loads",
                                   "301 binaries of Triton 3.6 (data/measurements/h200_fused_moe_binaries.csv)"};
}  // namespace triton

}  // namespace tilecast::constants
