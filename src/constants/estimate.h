// What a card sustains, how the parts of a kernel overlap, and how far forecasts may be off.
#pragma once

#include "constants/constant.h"

namespace tilecast::constants {

namespace sources {
inline constexpr std::string_view kSweep = "smallest kernels on an H200 (data/measurements/h200_sweep.csv.gz)";
inline constexpr std::string_view kNorms =
    "LayerNorm of few long rows on an H200, warm and cold, per loop iteration (h200_sweep.csv.gz)";
inline constexpr std::string_view kResidency = "decode attention on the visible GPUs (docs/method.md, residency)";
inline constexpr std::string_view kQuantiles =
    "tenth and ninetieth percentiles of measured over forecast on the sampled rows of docs/accuracy.md";
}  // namespace sources

// Shares of peaks.
inline constexpr Tunable kHbmEfficiency = Constant{"physics.dram_efficiency",
                                                   0.88,
                                                   "1",
                                                   fitted,
                                                   "share of peak DRAM bandwidth a long stream reaches",
                                                   "streaming rows of the measured cards",
                                                   "hbm-later"};
inline constexpr Tunable kPascalHbmEfficiency =
    Constant{"physics.dram_efficiency",
             0.75,
             "1",
             measured,
             "the same of Pascal's HBM",
             "NeuSight's training rows of add and mulu on P100: 550 of 732 GB/s from 63 to 290 MB",
             "hbm-first"};
inline constexpr Tunable kGddrEfficiency = Constant{"physics.dram_efficiency",
                                                    0.90,
                                                    "1",
                                                    measured,
                                                    "the same of GDDR that keeps no check bits",
                                                    "streams of expert weights on RTX 6000 Ada",
                                                    "gddr"};
inline constexpr Tunable kGddrEccEfficiency =
    Constant{"physics.dram_efficiency",
             0.80,
             "1",
             measured,
             "the same of GDDR that keeps check bits among the data",
             "streams of expert weights: 0.80 on L40S, 0.81 on L20, 0.84 on A40",
             "gddr-ecc"};
inline constexpr Tunable kL2Efficiency = Constant{
    "physics.l2_efficiency", 0.67, "1", fitted, "share of peak L2 bandwidth", "warm rows of the measured cards"};
inline constexpr Tunable kAttentionShare = Constant{"physics.attention_efficiency",
                                                    0.85,
                                                    "1",
                                                    fitted,
                                                    "of what products sustain that attention's products do",
                                                    "long prefill rows of the measured cards"};
inline constexpr Number kAttentionSharedShare{
    "physics.attention_shared",
    0.93,
    "1",
    measured,
    "of shared memory's bytes a clock that attention's main loops reach",
    "FlashAttention 2 on an H200 with heads of 192 and 256, which it holds back (h200_attention.csv.gz)"};
inline constexpr Tunable kVectorEfficiency = Constant{"physics.vector_efficiency",
                                                      0.7,
                                                      "1",
                                                      fitted,
                                                      "share of the vector pipes' peak",
                                                      "arithmetic-bound rows of streaming kernels"};

// Launches and dependent loads.
inline constexpr Tunable kGraphFloor = Constant{
    "physics.graph_floor", 0.35, "us", measured, "fixed part of an empty kernel in a CUDA graph", sources::kSweep};
inline constexpr Tunable kProductFloor =
    Constant{"physics.product_floor", 0.4, "us", measured, "fixed part of what a product or attention kernel adds",
             sources::kSweep};
inline constexpr Tunable kFloorClocks = Constant{
    "physics.floor_clocks", 1.2, "us GHz", measured, "part of either that runs at the SM clock", sources::kSweep};
inline constexpr Tunable kL2LatencyFixed = Constant{
    "physics.l2_latency", 100, "ns", measured, "fixed part of a dependent load that L2 answers", sources::kNorms};
inline constexpr Tunable kL2LatencyClocks = Constant{
    "physics.l2_latency_clocks", 340, "ns GHz", measured, "part of it that runs at the SM clock", sources::kNorms};
inline constexpr Tunable kDramLatency = Constant{
    "physics.dram_latency", 350, "ns", measured, "what a dependent load from DRAM takes more", sources::kNorms};
inline constexpr Tunable kDispatchClocks =
    Constant{"physics.dispatch_clocks",
             1.15,
             "clocks",
             measured,
             "between one CTA that is handed out and the next, over the whole chip",
             "look-ups of 9,000 to 33,000 rows of 128 to 256 bytes on an H200: 0.59 to 0.63 ns a CTA of one warp "
             "(data/measurements/h200_products_rows.csv.gz)"};
inline constexpr Number kEagerFloor{
    "physics.eager_floor", 6, "us", measured, "an empty kernel launched by itself", "eager rows of the measured cards"};
inline constexpr Tunable kFollowerFloor =
    Constant{"physics.follower_floor",
             1,
             "1",
             measured,
             "of a floor that kernels after the first in a graph take",
             "floors are a kernel's share of a chain, in which each waits for the one before to drain"};

// Overlap: p of the p-norms that join the parts of a kernel.
inline constexpr Tunable kProductOverlap = Constant{"overlap.product",
                                                    1.55,
                                                    "1",
                                                    fitted,
                                                    "a product's main loop and what comes from DRAM",
                                                    "bf16 GEMM (docs/method.md, forecast)",
                                                    "nvidia cdna1 cdna2 intel"};
inline constexpr Tunable kMfmaOverlap =
    Constant{"overlap.product",
             1.07,
             "1",
             fitted,
             "the same of kernels with one tile on its way at a time: next to nothing",
             "AITER's tuned products on MI300X; MI308X left out",
             "cdna3 cdna4"};
inline constexpr Tunable kOtherOverlap = Constant{"overlap.other",
                                                  2.0,
                                                  "1",
                                                  fitted,
                                                  "the same of other main loops; streams and their waits",
                                                  "attention and streaming rows"};
inline constexpr Tunable kAttentionExpOverlap =
    Constant{"overlap.attention_exp", 2.0, "1", fitted, "attention's exponentials and its products", "prefill rows"};
inline constexpr Tunable kExpOverlap = Constant{"overlap.exp",
                                                4.0,
                                                "1",
                                                assumed,
                                                "special functions and other arithmetic elsewhere",
                                                "the special-function pipe hides"};
inline constexpr Tunable kStreamOverlap =
    Constant{"overlap.stream", 4.0, "1", assumed, "a stream's arithmetic and its bytes", "both flow at once"};
inline constexpr Number kAsyncSharedReuse{"overlap.shared_reuse",
                                          2,
                                          "1",
                                          assumed,
                                          "multipliers that read an operand from shared memory once",
                                          "wgmma and tcgen05 read operands once for several",
                                          "wgmma tcgen05"};

// Caches: what of the last level holds data, and how sharply misses set in beyond it.
struct CacheConstants {
  Tunable usable, sharpness;
};
constexpr CacheConstants cache_constants(std::string_view cards, double usable, double sharpness) {
  return {Constant{"cache.usable", usable, "1", fitted, "share of the last cache that holds data", sources::kResidency,
                   cards},
          Constant{"cache.sharpness", sharpness, "1", fitted, "exponent of the edge beyond it", sources::kResidency,
                   cards}};
}
inline constexpr CacheConstants kWholeCache = cache_constants("turing ada 8.6 12.0 12.1", 1.0, 12);
inline constexpr CacheConstants kAmpereCache = cache_constants("8.0", 0.5, 4);
inline constexpr CacheConstants kHopperCache = cache_constants("hopper", 0.65, 4);
inline constexpr CacheConstants kTcgenCache = cache_constants("tcgen05", 0.85, 4);
inline constexpr CacheConstants kOtherCache = cache_constants("pascal volta amd intel", 0.8, 6);

// Intervals of the analytic forecast.
struct IntervalConstants {
  Number low, high;
};
constexpr IntervalConstants interval_constants(std::string_view loop, double low, double high) {
  return {Number{"interval.low", low, "1", measured, "low end over the forecast", sources::kQuantiles, "", loop},
          Number{"interval.high", high, "1", measured, "high end over the forecast", sources::kQuantiles, "", loop}};
}
inline constexpr IntervalConstants kProductInterval = interval_constants("products", 0.85, 2.5);
inline constexpr IntervalConstants kAttentionInterval = interval_constants("attention", 0.9, 3.5);
inline constexpr IntervalConstants kScanInterval = interval_constants("scans", 0.95, 6.0);
inline constexpr IntervalConstants kStreamInterval = interval_constants("streams and gathers", 0.85, 2.2);

// The learned part.
inline constexpr Number kFloorLawFixed{
    "learned.floor_fixed", 0.35, "1", measured, "share of a launch that does not follow the clock", sources::kSweep};
inline constexpr Number kFloorLawClocks{"learned.floor_clocks", 0.65, "1", measured, "and that does", sources::kSweep};
inline constexpr Number kHostGap{"learned.host_gap",
                                 0.6,
                                 "1",
                                 measured,
                                 "of the floor of calls timed one by one, what passes before their kernel starts",
                                 "intercepts of time over bytes of NeuSight's add and mulu: 0.51 to 0.62 on five cards",
                                 "nvidia intel"};
inline constexpr Number kHostGapAmd{
    "learned.host_gap", 0.8, "1", measured, "the same under ROCm", "the same of MI100 and MI210: 0.82 and 0.79", "amd"};
inline constexpr Number kHostJoin{
    "learned.host_join",
    16,
    "1",
    measured,
    "exponent that joins that floor with the gap and the kernel",
    "NeuSight's products of one wave over their depth: 3 to 4 % above both where they meet"};
inline constexpr Number kHostTold{"learned.host_told",
                                  1.1,
                                  "1",
                                  assumed,
                                  "times the floor from which on a measured call tells of its kernel",
                                  "floors of like calls scatter by a few percent"};
inline constexpr Number kStrangerSpread{"learned.stranger_spread",
                                        0.4,
                                        "1",
                                        assumed,
                                        "log by which another vendor's interval reaches farther",
                                        "one card, the Arc Pro B60, seen from NVIDIA's",
                                        "amd intel"};
inline constexpr Number kLikeReach{"learned.like_reach",
                                   0.8,
                                   "1",
                                   assumed,
                                   "log of two cards' SMs or bandwidths at which they are hardly alike",
                                   "a choice: H100 and H200 (0.38) are of one kind, P100 and P4 (1.3) are not"};
inline constexpr Number kLikeSharpness{
    "learned.like_sharpness", 4, "1", assumed, "exponent by which likeness falls there", "a choice, not a fit"};
inline constexpr Number kMoveDoubt{
    "learned.move_doubt", 0.25, "1", assumed, "share of the log of a change by which either end moves out",
    "a choice, not a fit"};
inline constexpr Number kDomainMargin{"learned.domain_margin",
                                      2,
                                      "octaves",
                                      assumed,
                                      "beyond the sizes of a card's few rows that its forest still answers for",
                                      "a choice: a factor of four"};
inline constexpr Number kDomainFade{
    "learned.domain_fade", 1, "octaves", assumed, "farther, over which what the forest adds falls by a factor of e",
    "a choice, not a fit"};
inline constexpr Number kOutsideWidth{"learned.outside_width",
                                      0.35,
                                      "1",
                                      assumed,
                                      "log by which either end moves out far from a card's own rows",
                                      "between an unseen sibling's width and an unseen architecture's"};
inline constexpr Whole kFewRows{"learned.few_rows",
                                100,
                                "rows",
                                assumed,
                                "of a card, below which its forest speaks for sizes like theirs alone, and its "
                                "intervals are an unseen card's",
                                "a sixteenth of them would have to measure its width"};
inline constexpr Number kAnySource{
    "calibrated.any_source", 0.5, "1", assumed, "of a residual that kernels of different sources share",
    "one value was tried"};
inline constexpr Number kSameSource{
    "calibrated.same_source", 0.7, "1", assumed, "of a residual that variants of one source share",
    "one value was tried"};
inline constexpr Number kMostCorrection{
    "calibrated.most_correction", 2, "1", assumed, "log by which neither part changes a forecast by more", "a choice"};

}  // namespace tilecast::constants
