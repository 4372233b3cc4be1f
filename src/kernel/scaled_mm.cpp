#include "kernel/scaled_mm.h"

#include <algorithm>
#include <array>
#include <span>

#include "constants/product.h"

namespace tilecast {

using namespace constants;

namespace {

// Up to `rows` rows and `columns` columns, this tile; the first that holds. vLLM's scaled_mm_sm90_fp8_dispatch.cuh,
// scaled_mm_sm100_fp8_dispatch.cuh, scaled_mm_sm120_fp8_dispatch.cuh and scaled_mm_c2x_sm89_fp8_dispatch.cuh (2026),
// whose further cases by n are left out except on Ada; SGLang's sgl-kernel descends from them. None splits k. Few rows
// are the narrow side of swapped operands. The 256 x 128 tile of a pair of CTAs on Blackwell counts as two of 128 x
// 128.
struct Case {
  Count rows;
  GemmTile tile;
  int tile_k;
  Count columns = Count{1} << 60;
};
constexpr Count kAnyRows = Count{1} << 60;
constexpr GemmTile mma_tile(int m, int n, int threads, int registers, int ctas_per_sm, int reuse_m, int reuse_n) {
  return {.m = m,
          .n = n,
          .threads = threads,
          .registers = registers,
          .ctas_per_sm = ctas_per_sm,
          .reuse_m = reuse_m,
          .reuse_n = reuse_n};
}
// vLLM on Ada chooses by columns too (rounded up to a power of two), and SGLang's copy keeps the simpler cases.
constexpr GemmTile kAda16 = mma_tile(16, 64, 128, 96, 4, 16, 64), kAda32 = mma_tile(32, 64, 128, 128, 3, 32, 64);
constexpr GemmTile kAda64 = mma_tile(64, 64, 128, 128, 2, 32, 64), kAda64Wide = mma_tile(64, 128, 128, 168, 2, 64, 64);
constexpr GemmTile kAda128 = mma_tile(128, 128, 128, 255, 1, 64, 64);
constexpr std::array<Case, 15> kAdaVllm = {{
    {16, kAda16, 128, 8192},
    {16, mma_tile(16, 128, 128, 128, 3, 16, 64), 64, 16384},
    {16, kAda32, 128},
    {32, kAda32, 128, 8192},
    {32, mma_tile(32, 128, 128, 128, 2, 32, 64), 128, 16384},
    {32, kAda32, 128},
    {64, kAda64, 128, 8192},
    {64, kAda64Wide, 128, 16384},
    {64, kAda64, 128},
    {128, kAda64Wide, 128, 8192},
    {128, kAda128, 64, 16384},
    {128, mma_tile(128, 64, 128, 168, 2, 64, 64), 128},
    {256, kAda64Wide, 128, 4096},
    {256, kAda128, 64},
    {kAnyRows, kAda128, 64},
}};
// Between 4096 and 8192 columns vLLM takes 256 x 128 for more than 256 rows: eight warps of 64 x 64 results, one CTA.
constexpr Case kAdaTall{kAnyRows, mma_tile(256, 128, 256, 255, 1, 64, 64), 64, 8192};
constexpr Count kAdaTallAbove = 4096, kAdaManyRows = 256;
constexpr std::array<Case, 5> kAda = {{
    {16, kAda16, 128},
    {32, kAda32, 128},
    {128, mma_tile(64, 64, 128, 128, 2, 64, 64), 128},
    {256, kAda64Wide, 64},
    {kAnyRows, kAda128, 64},
}};
// Workstation Blackwell: mma.sync fed by TMA, no multicast. Tiles below 128 rows are pingpong kernels, two consumers of
// a CTA with a tile each, which count as two CTAs. SGLang (fp8_gemm_kernel.cu, sm120_fp8_dispatch_shape) uses one tile
// for every shape, and so do the nvfp4 products of FlashInfer (fp4_gemm_template_sm120.h) and TensorRT-LLM
// (fp4Gemm.cpp, getDefaultGemmConfig), whose operands are never swapped: one row costs as much as 128.
constexpr GemmTile kSm120Large = mma_tile(128, 128, 384, 168, 1, 64, 128);
constexpr std::array<Case, 4> kSm120 = {{
    {16, mma_tile(16, 64, 192, 128, 2, 16, 64), 128},
    {32, mma_tile(32, 64, 192, 128, 2, 32, 64), 128},
    {256, mma_tile(64, 64, 192, 168, 2, 64, 64), 128},
    {kAnyRows, kSm120Large, 128},
}};
constexpr std::array<Case, 1> kSm120One = {{{kAnyRows, kSm120Large, 128}}};
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
// all shapes, three stages of 20 KiB, four warps of 16 x 64 results. Such a small tile requests 20 KiB from L2 every
// 128 of k.
constexpr std::array<Case, 1> kAdaBlock = {{
    {kAnyRows,
     {.m = 32, .n = 128, .threads = 128, .registers = 128, .ctas_per_sm = 1, .reuse_m = 16, .reuse_n = 64},
     128},
}};
constexpr int kAdaBlockStages = 3;

bool is_sm120(const Gpu& gpu) {
  return gpu.architecture == Architecture::blackwell && gpu.tensor_generation() == TensorGeneration::mma;
}

// Clocks of a tile's results on their way out. Only Ada's kernels, which CUTLASS 2 builds, are slow at it.
double epilogue_clocks(const GemmTile& tile, const Gpu& gpu, ScaledKernels kernels) {
  if (gpu.architecture != Architecture::ada) return 0;
  if (kernels != ScaledKernels::vllm && kernels != ScaledKernels::sglang) return 0;
  const bool vllm = kernels == ScaledKernels::vllm, narrow = tile.n <= 64;
  const Number& each = tile.m > 128 ? kAdaTallEpilogue
                       : vllm       ? (narrow ? kAdaNarrowEpilogue : kAdaWideEpilogue)
                                    : (narrow ? kAdaSglangNarrowEpilogue : kAdaSglangWideEpilogue);
  return each * tile.m * tile.n;
}

std::span<const Case> cases_of(const Gpu& gpu, ScaledKernels kernels) {
  switch (gpu.tensor_generation()) {
    case TensorGeneration::wgmma: return kHopper;
    case TensorGeneration::tcgen05: return kBlackwell;
    default: break;
  }
  if (kernels == ScaledKernels::trtllm_blocks) return kAdaBlock;
  if (kernels == ScaledKernels::fp4) return kSm120One;
  const bool vllm = kernels == ScaledKernels::vllm;
  if (is_sm120(gpu)) return vllm ? std::span<const Case>(kSm120) : kSm120One;
  return vllm ? std::span<const Case>(kAdaVllm) : kAda;
}

const Case& case_of(const GemmProblem& p, const Gpu& gpu, ScaledKernels kernels) {
  const std::span<const Case> cases = cases_of(gpu, kernels);
  if (cases.data() == kAdaVllm.data() && p.m > kAdaManyRows && p.n > kAdaTallAbove && p.n <= kAdaTall.columns)
    return kAdaTall;
  return *std::find_if(cases.begin(), cases.end(), [&](const Case& c) { return p.m <= c.rows && p.n <= c.columns; });
}

}  // namespace

std::optional<ScaledKernels> scaled_kernels(const Format& format, const Gpu& gpu, const Context& context) {
  const bool vllm = context.engine == Launcher::vllm, sglang = context.engine == Launcher::sglang;
  // DeepGEMM's and TensorRT-LLM's block-scaled kernels do not split k either; from Hopper on their tiles are about
  // these.
  if (format.id == FormatId::fp8_block && !context.engine.empty())
    return context.engine == Launcher::trtllm ? ScaledKernels::trtllm_blocks : ScaledKernels::sglang;
  // Nor do the nvfp4 products of FlashInfer's CuTe DSL and of TensorRT-LLM's CUTLASS on tcgen05.
  const bool fp4 = is_sm120(gpu) || gpu.tensor_generation() == TensorGeneration::tcgen05;
  if (format.id == FormatId::nvfp4 && !context.engine.empty() && fp4) return ScaledKernels::fp4;
  if ((format.id == FormatId::fp8 || format.id == FormatId::fp8_token) && (vllm || sglang))
    return vllm ? ScaledKernels::vllm : ScaledKernels::sglang;
  return std::nullopt;
}

GemmChoice choose_scaled_mm(const GemmProblem& problem, const MathPath& math, const Gpu& gpu, ScaledKernels kernels) {
  const Case& taken = case_of(problem, gpu, kernels);
  const bool sm120 = is_sm120(gpu);
  GemmChoice choice;
  choice.tile = taken.tile;
  choice.tile_k = taken.tile_k * (kernels == ScaledKernels::fp4 ? 2 : 1);
  const double stage = (choice.tile.m + choice.tile.n) * choice.tile_k * bits_of(math.input) / 8.0;
  const double room = in_bytes(gpu.shared_memory.per_cta) / (sm120 ? choice.tile.ctas_per_sm : 1);
  choice.stages = static_cast<int>(std::clamp(room / stage, 1.0, 5.0));
  const bool ada_block = kernels == ScaledKernels::trtllm_blocks && gpu.tensor_generation() == TensorGeneration::mma;
  if (ada_block) choice.stages = kAdaBlockStages;
  // TMA kernels are persistent, in clusters of two along m once there are two tiles.
  const bool clusters = gpu.tensor_generation() != TensorGeneration::mma;
  choice.persistent = clusters || (sm120 && !ada_block);
  if (clusters && problem.m > choice.tile.m) choice.cluster_m = 2;
  choice.concurrent = Count{gpu.sms} * choice.tile.ctas_per_sm;
  choice.epilogue_clocks = epilogue_clocks(choice.tile, gpu, kernels);
  choice.coalesced = choice.persistent ? 4 : 1;  // as kernel/gemm_tile.cpp, coalesced_requests
  return choice;
}

}  // namespace tilecast
