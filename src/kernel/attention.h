// What the attention families share: masks, algorithms, head geometry, lengths, and the pairs a mask leaves visible.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "gpu/gpu.h"
#include "kernel/format.h"
#include "tilecast/result.h"
#include "tilecast/units.h"

namespace tilecast {

enum class AttentionMask : std::uint8_t { causal, full };
inline constexpr std::array<std::string_view, 2> kAttentionMaskNames = {"causal", "full"};
constexpr const auto& enum_names(AttentionMask) { return kAttentionMaskNames; }

// Whose kernel it is. `automatic` is the engines' default on the card: FlashAttention 3 on Hopper, the two-tile
// pipeline of FlashAttention 4 and TRT-LLM-gen on data-centre Blackwell, FlashAttention 2 elsewhere; before Ampere, for
// which neither is written, `efficient`. `cudnn` resolves
// to the pipeline it resembles on the card; on Hopper it has its own. `efficient` is xFormers' kernel (CUTLASS), which
// PyTorch keeps for masks and cards that FlashAttention does not support. `ck` and `aiter` are AMD's: Composable
// Kernel's (ROCm's FlashAttention 2) and AITER's assembly kernels; they are chosen by card or kernel source, never by
// shape.
enum class AttentionAlgorithm : std::uint8_t { automatic, fa2, fa3, blackwell, cudnn, efficient, ck, aiter };
inline constexpr std::array<std::string_view, 6> kAttentionAlgorithmNames = {"auto",      "fa2",   "fa3",
                                                                             "blackwell", "cudnn", "efficient"};
constexpr const auto& enum_names(AttentionAlgorithm) { return kAttentionAlgorithmNames; }

// The algorithm that runs on this GPU; an error if the hardware lacks what it needs.
Result<AttentionAlgorithm> resolve_algorithm(AttentionAlgorithm wanted, const Gpu& gpu);

// The pipe that an algorithm's products take.
Result<MathPath> attention_math(const Format& format, AttentionAlgorithm algorithm, const Gpu& gpu);

// Type of the key-value cache: that of the queries, or quantised.
enum class CacheType : std::uint8_t { same, fp8 };
inline constexpr std::array<std::string_view, 2> kCacheTypeNames = {"same", "fp8"};
constexpr const auto& enum_names(CacheType) { return kCacheTypeNames; }

struct AttentionHeads {
  Count query = 0, key = 0;  // heads of queries, and of keys and values
  Count qk_dim = 0, v_dim = 0;
  Count group() const { return query / key; }
};

// Requests with equal lengths. Keys include those of the queries themselves: kv - q is the cached prefix.
struct Lengths {
  Count q = 0, kv = 0;
  Count requests = 0;
};

// Lengths in a batch, grouped by value, longest first. Lists override the scalars; an empty kv list means kv = q if
// `kv` is zero.
std::vector<Lengths> gather_lengths(Count batch, Count q, Count kv, const std::vector<Count>& q_lens,
                                    const std::vector<Count>& kv_lens);

// Keys that query `row` of a request sees under a causal mask and a window (0: none) that counts the query itself.
constexpr Count visible_keys(const Lengths& l, Count row, Count window) {
  const Count seen = l.kv - l.q + row + 1;
  return window > 0 && window < seen ? window : seen;
}
// Unmasked query-key pairs of one head of one request, exactly.
double visible_pairs(const Lengths& l, AttentionMask mask, Count window);
// Keys that at least one query sees: what must be read.
Count touched_keys(const Lengths& l, Count window);

// Checks that all families need.
Status check_heads(const AttentionHeads& heads);
// Lists of lengths must agree with each other and with the batch, if given.
Status check_lists(Count batch, const std::vector<Count>& q_lens, const std::vector<Count>& kv_lens);
Status check_lengths(const std::vector<Lengths>& lengths, AttentionMask mask, Count window,
                     const AttentionHeads& heads);

// Sums over the requests.
double total_queries(const std::vector<Lengths>& lengths);
double total_touched_keys(const std::vector<Lengths>& lengths, Count window);
double total_pairs(const std::vector<Lengths>& lengths, AttentionMask mask, Count window);

}  // namespace tilecast
