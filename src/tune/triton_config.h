// Configurations of Triton's fused-MoE kernel, as the engines' files name them, and which of them can run.
#pragma once

#include <array>
#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/format.h"
#include "kernel/moe.h"
#include "kernel/plan.h"

namespace tilecast {

// CTAs compute `m` rows of one expert by `n` columns, `k` deep per step; `group` blocks of rows follow each other
// through the same columns.
struct TritonConfig {
  int m = 0, n = 0, k = 0, group = 1, warps = 4, stages = 3;

  std::array<int, 6> values() const { return {m, n, k, group, warps, stages}; }
  auto operator<=>(const TritonConfig&) const = default;
};
inline constexpr std::array<std::string_view, 6> kTritonConfigKeys = {"BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K",
                                                                      "GROUP_SIZE_M", "num_warps",    "num_stages"};

// "16,64,128,1,4,4", in the order of the keys; the form tools/tune/measure.py takes.
std::string text_of(const TritonConfig& config);
std::optional<TritonConfig> triton_config_from(std::string_view text);

// What a compiled configuration takes of an SM.
struct TritonFootprint {
  bool warpgroup = false;  // the tensor pipe reads its operands from shared memory (wgmma, tcgen05), not registers
  CtaShape cta;
  int ctas_per_sm = 0;  // zero: does not fit
};
TritonFootprint footprint_of(const TritonConfig& config, const Format& format, const Gpu& gpu);

// Why it cannot run; empty where it can.
std::string why_illegal(const TritonConfig& config, const Format& format, const Gpu& gpu);

// Every legal configuration of the values that the tuning scripts of vLLM (benchmarks/kernels/benchmark_moe.py) and
// SGLang (benchmark/kernels/fused_moe_triton) search.
std::vector<TritonConfig> triton_configs(const Format& format, const Gpu& gpu);

// What the engines launch without a tuned file: vLLM in 2026, and vLLM up to 0.14 or SGLang 0.5 (kernel/moe_tiles.h).
TritonConfig vllm_default(const Moe& shape, const Format& format, DType input);
TritonConfig sglang_default(const Moe& shape, const Format& format, DType input);

}  // namespace tilecast
