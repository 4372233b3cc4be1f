#include "kernel/gemm_tile.h"

#include <algorithm>
#include <array>
#include <limits>

#include "constants/estimate.h"
#include "constants/product.h"
#include "kernel/cublas_simt.h"
#include "kernel/cublas_wgmma.h"
#include "kernel/gemm_traffic.h"
#include "kernel/pipeline.h"

namespace tilecast {

using namespace constants;

namespace {

// Tiles of cuBLAS and CUTLASS where the tensor pipe is fed by mma.sync, and of convolutions everywhere: rows along m
// (tokens), columns along n. A 16-row tile is a 64-row one of the transposed problem: libraries swap the operands when
// there are few tokens. cuBLAS on Hopper has its own choice (kernel/cublas_wgmma.h).
constexpr std::array<GemmTile, 9> kTensorTiles = {{
    {.m = 16, .n = 64, .threads = 128, .registers = 96, .ctas_per_sm = 4, .reuse_m = 16, .reuse_n = 64},
    {.m = 16, .n = 128, .threads = 128, .registers = 128, .ctas_per_sm = 3, .reuse_m = 16, .reuse_n = 64},
    {.m = 64, .n = 64, .threads = 128, .registers = 128, .ctas_per_sm = 2, .reuse_m = 64, .reuse_n = 64},
    {.m = 64, .n = 128, .threads = 128, .registers = 168, .ctas_per_sm = 2, .reuse_m = 64, .reuse_n = 64},
    {.m = 128, .n = 64, .threads = 128, .registers = 168, .ctas_per_sm = 2, .reuse_m = 64, .reuse_n = 64},
    {.m = 128, .n = 128, .threads = 256, .registers = 168, .ctas_per_sm = 1, .reuse_m = 64, .reuse_n = 128},
    {.m = 64, .n = 256, .threads = 256, .registers = 168, .ctas_per_sm = 1, .reuse_m = 64, .reuse_n = 128},
    {.m = 128, .n = 256, .threads = 384, .registers = 168, .ctas_per_sm = 1, .reuse_m = 64, .reuse_n = 256},
    {.m = 256, .n = 128, .threads = 384, .registers = 168, .ctas_per_sm = 1, .reuse_m = 64, .reuse_n = 128},
}};

// fp64 on the tensor pipe: cuBLAS's d884 kernels. Rows of eight bytes make small tiles wait for L2.
constexpr std::array<GemmTile, 3> kDoubleTiles = {{
    {.m = 64, .n = 64, .threads = 128, .registers = 168, .ctas_per_sm = 2, .reuse_m = 32, .reuse_n = 32},
    {.m = 64, .n = 128, .threads = 128, .registers = 255, .ctas_per_sm = 2, .reuse_m = 32, .reuse_n = 64},
    {.m = 128, .n = 64, .threads = 128, .registers = 255, .ctas_per_sm = 2, .reuse_m = 64, .reuse_n = 32},
}};

// tcgen05 multiplies 64 or 128 rows by up to 256 columns; tensor memory holds 128 x 512 results of a CTA. Pairs of CTAs
// that share an operand count as two CTAs of these sizes.
constexpr std::array<GemmTile, 9> kTcgenTiles = {{
    {.m = 16, .n = 128, .threads = 192, .registers = 128, .ctas_per_sm = 1, .reuse_m = 16, .reuse_n = 128},
    {.m = 32, .n = 128, .threads = 192, .registers = 128, .ctas_per_sm = 1, .reuse_m = 32, .reuse_n = 128},
    {.m = 64, .n = 64, .threads = 192, .registers = 128, .ctas_per_sm = 1, .reuse_m = 64, .reuse_n = 64},
    {.m = 64, .n = 128, .threads = 192, .registers = 128, .ctas_per_sm = 1, .reuse_m = 64, .reuse_n = 128},
    {.m = 128, .n = 64, .threads = 192, .registers = 128, .ctas_per_sm = 1, .reuse_m = 128, .reuse_n = 64},
    {.m = 128, .n = 128, .threads = 192, .registers = 128, .ctas_per_sm = 1, .reuse_m = 128, .reuse_n = 128},
    {.m = 128, .n = 192, .threads = 256, .registers = 128, .ctas_per_sm = 1, .reuse_m = 128, .reuse_n = 192},
    {.m = 128, .n = 256, .threads = 256, .registers = 128, .ctas_per_sm = 1, .reuse_m = 128, .reuse_n = 256},
    {.m = 256, .n = 128, .threads = 256, .registers = 128, .ctas_per_sm = 1, .reuse_m = 128, .reuse_n = 128},
}};

// SIMT tiles of cuBLAS (sgemm kernel names of NeuSight's rows).
constexpr std::array<GemmTile, 6> kSimtTiles = {{
    {.m = 32, .n = 32, .threads = 128, .registers = 80, .ctas_per_sm = 4, .reuse_m = 32, .reuse_n = 32},
    {.m = 32, .n = 128, .threads = 256, .registers = 64, .ctas_per_sm = 2, .reuse_m = 32, .reuse_n = 64},
    {.m = 64, .n = 32, .threads = 64, .registers = 96, .ctas_per_sm = 4, .reuse_m = 32, .reuse_n = 32},
    {.m = 64, .n = 64, .threads = 64, .registers = 126, .ctas_per_sm = 4, .reuse_m = 32, .reuse_n = 64},
    {.m = 64, .n = 128, .threads = 128, .registers = 126, .ctas_per_sm = 3, .reuse_m = 32, .reuse_n = 64},
    {.m = 128, .n = 128, .threads = 256, .registers = 122, .ctas_per_sm = 2, .reuse_m = 32, .reuse_n = 64},
}};

// Macro-tiles of rocBLAS (names of NeuSight's rows on MI100 and MI210, either way round): four waves of 64 threads.
constexpr std::array<GemmTile, 13> kMatrixCoreTiles = {{
    {.m = 16, .n = 16, .threads = 256, .registers = 64, .ctas_per_sm = 4, .reuse_m = 16, .reuse_n = 16},
    {.m = 16, .n = 64, .threads = 256, .registers = 64, .ctas_per_sm = 4, .reuse_m = 16, .reuse_n = 32},
    {.m = 64, .n = 16, .threads = 256, .registers = 64, .ctas_per_sm = 4, .reuse_m = 32, .reuse_n = 16},
    {.m = 32, .n = 32, .threads = 256, .registers = 64, .ctas_per_sm = 4, .reuse_m = 16, .reuse_n = 32},
    {.m = 64, .n = 32, .threads = 256, .registers = 96, .ctas_per_sm = 3, .reuse_m = 32, .reuse_n = 32},
    {.m = 32, .n = 64, .threads = 256, .registers = 96, .ctas_per_sm = 3, .reuse_m = 32, .reuse_n = 32},
    {.m = 64, .n = 64, .threads = 256, .registers = 128, .ctas_per_sm = 2, .reuse_m = 32, .reuse_n = 64},
    {.m = 64, .n = 128, .threads = 256, .registers = 128, .ctas_per_sm = 2, .reuse_m = 64, .reuse_n = 64},
    {.m = 128, .n = 64, .threads = 256, .registers = 128, .ctas_per_sm = 2, .reuse_m = 64, .reuse_n = 64},
    {.m = 96, .n = 96, .threads = 256, .registers = 128, .ctas_per_sm = 2, .reuse_m = 64, .reuse_n = 64},
    {.m = 128, .n = 96, .threads = 256, .registers = 168, .ctas_per_sm = 1, .reuse_m = 64, .reuse_n = 64},
    {.m = 128, .n = 128, .threads = 256, .registers = 168, .ctas_per_sm = 1, .reuse_m = 64, .reuse_n = 64},
    {.m = 128, .n = 144, .threads = 256, .registers = 168, .ctas_per_sm = 1, .reuse_m = 64, .reuse_n = 64},
}};

constexpr std::array<int, 8> kSplits = {1, 2, 3, 4, 6, 8, 16, 32};

}  // namespace

int step_depth(const MathPath& math) {
  if (math.pipe == Pipe::vector) return 8;
  return std::max(16, 128 * 8 / bits_of(math.input));
}

std::span<const GemmTile> gemm_tiles(const MathPath& math, const Gpu& gpu) {
  if (math.pipe == Pipe::vector) return kSimtTiles;
  if (math.input == DType::fp64 && gpu.vendor == Vendor::nvidia) return kDoubleTiles;
  if (gpu.tensor_generation() == TensorGeneration::tcgen05) return kTcgenTiles;
  return kTensorTiles;
}

namespace {

// The cost of running a product in one tile, at the split that suits it best.
class ListedCost {
 public:
  ListedCost(const GemmProblem& problem, const MathPath& math, const Gpu& gpu, int depth, double element, bool product)
      : problem_(problem),
        latency_(pipeline_latency(gpu)),
        sms_(gpu.sms),
        depth_(depth),
        element_(element),
        rate_(math.ops_per_clock * product_efficiency(gpu)),
        step_latency_(math.pipe == Pipe::tensor ? latency_.step_clocks
                                                : latency_.step_clocks * depth / kReferenceDepth),
        l2_(product ? in_bytes(gpu.l2.per_clock) * gpu.tuned(kL2Efficiency) : std::numeric_limits<double>::infinity()),
        all_steps_(ceil_div(problem.k, depth)),
        reduce_clocks_(static_cast<double>(problem.batch * problem.m) * static_cast<double>(problem.n) * 8 /
                       in_bytes(gpu.l2.per_clock)) {}

  struct Split {
    double clocks = std::numeric_limits<double>::infinity();
    int split = 1;
  };
  // Empty if every split takes more than `most` clocks: whatever the split, all SMs together run all steps.
  Split of(const GemmTile& tile, double most) const {
    constexpr double kSurely = 1 - 1e-9;  // more than the rounding of a few products
    const Count tiles = problem_.batch * ceil_div(problem_.m, tile.m) * ceil_div(problem_.n, tile.n);
    const double rows = static_cast<double>(std::min<Count>(tile.m, problem_.m));
    const double columns = static_cast<double>(std::min<Count>(tile.n, problem_.n));
    const double step_bytes = (rows + columns) * depth_ * element_;
    const double alone = std::max({2.0 * tile.m * tile.n * depth_ / rate_, step_bytes / latency_.feed, step_latency_});
    const double everything = static_cast<double>(tiles) * static_cast<double>(all_steps_) * alone;
    Split best;
    if (everything * kSurely > most * static_cast<double>(sms_)) return best;
    for (const int split : kSplits) {
      if (split > 1 && all_steps_ < split * kLeastStepsPerSplit) break;
      const Count units = tiles * split;
      const double waves = units <= sms_ ? 1 : static_cast<double>(ceil_div(units, sms_));
      const Count steps = split > 1 ? ceil_div(all_steps_, split) : all_steps_;
      // Concurrent SMs share what L2 delivers; a last wave of few asks for less of it.
      const auto step = [&](Count busy) { return std::max(alone, step_bytes * static_cast<double>(busy) / l2_); };
      const Count full = units / sms_, rest = units % sms_;
      const double in_waves = (full > 0 ? static_cast<double>(full) * step(sms_) : 0) + (rest > 0 ? step(rest) : 0);
      double clocks =
          static_cast<double>(steps) * in_waves + latency_.task_clocks * (1 + latency_.wave_share * (waves - 1));
      if (split > 1) clocks += latency_.split_clocks + split * reduce_clocks_;
      if (clocks < best.clocks) best = {clocks, split};
      if (units >= 4 * sms_) break;  // more splits only add waves
    }
    return best;
  }

 private:
  const GemmProblem& problem_;
  PipelineLatency latency_;
  Count sms_;
  int depth_;
  double element_, rate_, step_latency_;
  double l2_;  // bytes a clock, whole chip; no limit for convolutions, whose tiles' pixels overlap
  Count all_steps_;
  double reduce_clocks_;  // of one part of a split
};

// The least cost over the tiles offered; the first of equal ones. Large tiles come last and are tried first, since few
// others come close when there is much to do.
GemmChoice choose_listed(const GemmProblem& problem, const MathPath& math, const Gpu& gpu, bool product) {
  const int depth = step_depth(math);
  const double element = bits_of(math.input) / 8.0;
  const ListedCost cost(problem, math, gpu, depth, element, product);
  GemmChoice best;
  double least = std::numeric_limits<double>::infinity();
  const std::span<const GemmTile> tiles = gemm_tiles(math, gpu);
  for (auto tile = tiles.rbegin(); tile != tiles.rend(); ++tile) {
    const auto [clocks, split] = cost.of(*tile, least);
    if (clocks > least) continue;
    least = clocks;
    best.tile = *tile;
    best.split = split;
  }
  best.tile_k = depth;
  // Four stages where shared memory has room for them.
  const double stage = (best.tile.m + best.tile.n) * depth * element;
  best.stages = static_cast<int>(std::clamp(in_bytes(gpu.shared_memory.per_cta) / stage, 1.0, 4.0));
  return best;
}

// rocBLAS uses the macro-tile that was fastest for the tuned size nearest to one product: all rows of NeuSight's with
// the same sides run the same kernel, whatever their batch. For single products small tiles win because they occupy the
// compute units, and cost more when a batch would fill them anyway.
GemmChoice choose_rocblas(const GemmProblem& problem, const MathPath& math, const Gpu& gpu) {
  const int depth = step_depth(math);
  const double element = bits_of(math.input) / 8.0, rate = math.ops_per_clock * product_efficiency(gpu);
  const double steps = static_cast<double>(ceil_div(problem.k, depth));
  GemmChoice best;
  double least = std::numeric_limits<double>::infinity();
  for (const GemmTile& tile : kMatrixCoreTiles) {
    const double step =
        std::max(2.0 * tile.m * tile.n * depth / rate, (tile.m + tile.n) * depth * element / kRocblasFeed);
    const Count tiles = ceil_div(problem.m, tile.m) * ceil_div(problem.n, tile.n);
    const double clocks = static_cast<double>(ceil_div(tiles, gpu.sms)) * (steps * step + kRocblasTaskClocks);
    if (clocks >= least) continue;
    least = clocks;
    best.tile = tile;
  }
  best.tile_k = depth;
  best.stages = 2;
  return best;
}

// cuBLAS's choice was not fitted on Ada (kernel/cublas_simt.h): we assume that it runs batched products of few columns
// in equally narrow tiles, as Hopper does. Ampere's fitted ones, under an older cuBLAS, would double their work.
bool beyond_fitted(const GemmProblem& p, const Gpu& gpu) {
  return gpu.architecture == Architecture::ada && std::min(p.m, p.n) <= kNarrowSimtTile;
}

}  // namespace

GemmChoice choose_gemm(const GemmProblem& problem, const MathPath& math, const Gpu& gpu, GemmRoutine routine) {
  const bool cublas = routine != GemmRoutine::other && gpu.vendor == Vendor::nvidia;
  const bool batched = routine == GemmRoutine::batched;
  GemmChoice choice;
  const bool simt = cublas && math.pipe == Pipe::vector && math.input == DType::fp32;
  if (simt && !(batched && beyond_fitted(problem, gpu))) choice = choose_simt(problem, batched, gpu);
  else if (cublas && takes_wgmma(problem, math, gpu)) choice = choose_wgmma(problem, math, gpu, batched);
  else if (routine != GemmRoutine::other && gpu.tensor_generation() == TensorGeneration::mfma &&
           math.pipe == Pipe::tensor)
    choice = choose_rocblas(problem, math, gpu);
  else choice = choose_listed(problem, math, gpu, routine != GemmRoutine::other);
  choice.concurrent = Count{gpu.sms} * choice.tile.ctas_per_sm;
  choice.coalesced = coalesced_requests(gpu);
  return choice;
}

}  // namespace tilecast
