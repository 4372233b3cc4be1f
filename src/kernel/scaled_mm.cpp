#include "kernel/scaled_mm.h"

#include <algorithm>
#include <array>
#include <span>

namespace tilecast {
namespace {

// Up to `rows` rows, this tile. vLLM's scaled_mm_sm90_fp8_dispatch.cuh, scaled_mm_sm100_fp8_dispatch.cuh and
// scaled_mm_c2x_sm89_fp8_dispatch.cuh (2026), whose further cases by n are left out; SGLang's sgl-kernel descends from
// them. None splits k. Few rows are the narrow side of swapped operands. The 256 x 128 tile of a pair of CTAs on
// Blackwell counts as two of 128 x 128.
struct Case {
  Count rows;
  GemmTile tile;
  int tile_k;
};
constexpr Count kAnyRows = Count{1} << 60;
constexpr std::array<Case, 5> kAda = {{
    {16, {.m = 16, .n = 64, .threads = 128, .registers = 96, .ctas_per_sm = 4, .reuse_m = 16, .reuse_n = 64}, 128},
    {32, {.m = 32, .n = 64, .threads = 128, .registers = 128, .ctas_per_sm = 3, .reuse_m = 32, .reuse_n = 64}, 128},
    {128, {.m = 64, .n = 64, .threads = 128, .registers = 128, .ctas_per_sm = 2, .reuse_m = 64, .reuse_n = 64}, 128},
    {256, {.m = 64, .n = 128, .threads = 128, .registers = 168, .ctas_per_sm = 2, .reuse_m = 64, .reuse_n = 64}, 64},
    {kAnyRows,
     {.m = 128, .n = 128, .threads = 128, .registers = 255, .ctas_per_sm = 1, .reuse_m = 64, .reuse_n = 64},
     64},
}};
constexpr std::array<Case, 4> kHopper = {{
    {16, {.m = 16, .n = 64, .threads = 384, .registers = 168, .ctas_per_sm = 1, .reuse_m = 16, .reuse_n = 64}, 128},
    {64, {.m = 64, .n = 64, .threads = 384, .registers = 168, .ctas_per_sm = 1, .reuse_m = 64, .reuse_n = 64}, 128},
    {128, {.m = 64, .n = 128, .threads = 384, .registers = 168, .ctas_per_sm = 1, .reuse_m = 64, .reuse_n = 128}, 128},
    {kAnyRows,
     {.m = 128, .n = 128, .threads = 384, .registers = 168, .ctas_per_sm = 1, .reuse_m = 64, .reuse_n = 128},
     128},
}};
constexpr std::array<Case, 4> kBlackwell = {{
    {16, {.m = 16, .n = 128, .threads = 192, .registers = 128, .ctas_per_sm = 1, .reuse_m = 16, .reuse_n = 128}, 128},
    {64, {.m = 64, .n = 64, .threads = 192, .registers = 128, .ctas_per_sm = 1, .reuse_m = 64, .reuse_n = 64}, 128},
    {256,
     {.m = 128, .n = 128, .threads = 192, .registers = 128, .ctas_per_sm = 1, .reuse_m = 128, .reuse_n = 128},
     128},
    {kAnyRows,
     {.m = 128, .n = 128, .threads = 192, .registers = 128, .ctas_per_sm = 1, .reuse_m = 128, .reuse_n = 128},
     128},
}};

// TensorRT-LLM's block-scaled product before Hopper, fp8_blockscale_gemm_kernel.cuh, gemm_dispatch_sm89: one tile for
// all shapes, three stages of 20 KiB, four warps of 16 x 64 results. So small a tile asks L2 for 20 KiB every 128 of k.
constexpr std::array<Case, 1> kAdaBlock = {{
    {kAnyRows,
     {.m = 32, .n = 128, .threads = 128, .registers = 128, .ctas_per_sm = 1, .reuse_m = 16, .reuse_n = 64},
     128},
}};
constexpr int kAdaBlockStages = 3;

std::span<const Case> cases_of(const Gpu& gpu, bool ada_block) {
  if (ada_block) return kAdaBlock;
  switch (gpu.tensor_generation()) {
    case TensorGeneration::wgmma: return kHopper;
    case TensorGeneration::tcgen05: return kBlackwell;
    default: return kAda;
  }
}

}  // namespace

bool takes_scaled_mm(const Format& format, const Context& context) {
  // DeepGEMM's and TensorRT-LLM's block-scaled kernels do not split k either; from Hopper on their tiles are about
  // these.
  if (format.name == "fp8_block") return !context.engine.empty();
  return (format.name == "fp8" || format.name == "fp8_token") &&
         (context.engine == Launcher::vllm || context.engine == Launcher::sglang);
}

GemmChoice choose_scaled_mm(const GemmProblem& problem, const MathPath& math, const Gpu& gpu, bool trtllm_blocks) {
  const bool ada_block = trtllm_blocks && gpu.tensor_generation() == TensorGeneration::mma;
  const std::span<const Case> cases = cases_of(gpu, ada_block);
  const Case& taken = *std::find_if(cases.begin(), cases.end(), [&](const Case& c) { return problem.m <= c.rows; });
  GemmChoice choice;
  choice.tile = taken.tile;
  choice.tile_k = taken.tile_k;
  const double stage = (choice.tile.m + choice.tile.n) * choice.tile_k * bits_of(math.input) / 8.0;
  choice.stages = static_cast<int>(std::clamp(in_bytes(gpu.shared_memory.per_cta) / stage, 1.0, 5.0));
  if (ada_block) choice.stages = kAdaBlockStages;
  // TMA kernels are persistent, in clusters of two along m once there are two tiles.
  choice.persistent = gpu.tensor_generation() != TensorGeneration::mma;
  if (choice.persistent && problem.m > choice.tile.m) choice.cluster_m = 2;
  choice.concurrent = Count{gpu.sms} * choice.tile.ctas_per_sm;
  choice.coalesced = choice.persistent ? 4 : 1;  // as kernel/gemm_tile.cpp, coalesced_requests
  return choice;
}

}  // namespace tilecast
