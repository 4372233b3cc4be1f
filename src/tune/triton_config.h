// Configurations of Triton's fused-MoE kernel, as the engines' files name them, and which of them can run.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/format.h"
#include "kernel/moe.h"
#include "kernel/plan.h"
#include "tilecast/tune.h"

namespace tilecast {

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
