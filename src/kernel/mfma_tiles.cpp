#include "kernel/mfma_tiles.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "constants/estimate.h"
#include "constants/product.h"
#include "kernel/pipeline.h"
#include "support/arithmetic.h"

namespace tilecast {

using namespace constants;

namespace {

constexpr int kStepBytes = 128;  // of an operand row in one main-loop step
constexpr int kThreads = 256;    // four waves of 64
constexpr std::array<int, 4> kSplits = {1, 2, 4, 8};

// Sides that CK, AITER's assembly and hipBLASLt have instances of (kernel names of AITER's tuned tables). A
// block-scaled instance keeps the sums of a 128-deep block beside the running ones, which leaves registers for 128 x
// 128 results.
constexpr std::array<int, 10> kRows = {16, 32, 48, 64, 96, 128, 160, 192, 224, 256};
constexpr std::array<int, 7> kColumns = {32, 64, 96, 128, 192, 224, 256};
constexpr int kMostBlockScaled = 128, kLeastBlockColumns = 64, kSplitResults = 128 * 128;

bool is_offered(int m, int n, bool block_scaled) {
  if (block_scaled)
    return m <= kMostBlockScaled && n <= kMostBlockScaled && n >= kLeastBlockColumns && m != 48 && m != 96 && n != 96;
  return m < 160 || n >= 128;  // tall tiles are wide too
}

// Four waves in two rows and two columns, or in one row if there are few rows.
GemmTile tile_of(int m, int n, const Gpu& gpu) {
  const bool square = m >= 32 && n >= 32;
  GemmTile tile{.m = m, .n = n, .threads = kThreads};
  tile.reuse_m = square ? m / 2 : m;
  tile.reuse_n = std::max(8, square ? n / 2 : n / 4);
  tile.registers = std::clamp(m * n / 32, 128, 512);  // accumulators and as many again
  const int by_shared = static_cast<int>(in_bytes(gpu.shared_memory.per_sm)) / (2 * (m + n) * kStepBytes);
  tile.ctas_per_sm = std::clamp(std::min(by_shared, 512 / tile.registers), 1, 4);
  return tile;
}

bool is_block_scaled(const Format& format) {
  return format.id == FormatId::fp8_block || format.id == FormatId::fp8_block_static;
}

// Everything the cost of a tile depends on.
struct Work {
  Count tiles = 0;               // of all products
  double rows = 0, columns = 0;  // that a tile really has, in the mean
  double k = 0;
  Bytes dram{};  // operands and results, once
  bool direct = false;
};

struct Cost {
  const Format& format;
  const MathPath& math;
  const Gpu& gpu;
  bool grouped = false;
  PipelineLatency latency = pipeline_latency(gpu);

  // Clocks of arithmetic, LDS and scales of one tile.
  double computing(const GemmTile& tile, double steps, bool direct) const {
    const double results = 1.0 * tile.m * tile.n, lines = steps * kStepBytes;
    const double depth = lines / element();
    const double tensor = 2 * results * depth / (math.ops_per_clock * product_efficiency(gpu));
    const double w = direct ? 0.0 : tile.n + results / std::min(tile.reuse_m, tile.m);
    const double shared = lines * (tile.m + results / std::min(tile.reuse_n, tile.n) + w) + kMfmaEpilogue * results;
    const double scales = is_block_scaled(format) ? 2 * kScaleSlots * results * depth / kScaleDepth : 0.0;
    const double vector = gpu.vector_per_clock[static_cast<std::size_t>(DType::fp32)] * gpu.tuned(kVectorEfficiency);
    return tensor + shared / (in_bytes(gpu.shared_memory.per_clock) * kMfmaSharedShare) + scales / vector;
  }

  // The same terms as estimate/forecast.h, at the same rates.
  double clocks(const Work& work, const GemmTile& tile, int split) const {
    const double steps = real(ceil_div(ceil_div(static_cast<Count>(work.k * element()), kStepBytes), split));
    const double tasks = real(work.tiles * split), busiest = real(ceil_div(work.tiles * split, gpu.sms));
    const double resident = std::min<double>(tile.ctas_per_sm, busiest);
    const double each = in_bytes(format.activation_bytes(work.rows * work.k / split)) +
                        in_bytes(format.weight_bytes(work.columns * work.k / split)) +
                        in_bytes(format.output_bytes(work.rows * work.columns));
    const double hits = std::max(0.0, 1 - in_bytes(work.dram) / (tasks * each));
    const double l2 = std::max(busiest * each / gpu.tuned(kMfmaFeed),
                               tasks * each / (in_bytes(gpu.l2.per_clock) * gpu.tuned(kL2Efficiency))) *
                      hits;
    const double waiting = busiest * steps * latency.step_clocks / resident;
    const double rounds = std::max(1.0, std::ceil(busiest / tile.ctas_per_sm));
    const double prologue = latency.task_clocks * (1 + latency.wave_share * (rounds - 1));
    const double fed = fed_by_l2(busiest * computing(tile, steps, work.direct), l2);
    const double loop = std::max(fed, waiting) + prologue;
    const double dram =
        work.dram.base() / (gpu.dram.bandwidth.base() * gpu.tuned(kHbmEfficiency)) * gpu.clock.max.base();
    return p_norm(loop, dram, gpu.tuned(kMfmaOverlap)) + (split > 1 ? latency.split_clocks : 0.0);
  }

  // Of tiles that keep the pipes equally busy, one that asks L2 for much more is not as good. Experts' tiles agree
  // better with those of AITER's tables where that does not count.
  double fed_by_l2(double computing, double l2) const {
    return grouped ? std::max(computing, l2) : p_norm(computing, l2, kMfmaChoiceJoin);
  }
  double element() const { return bits_of(math.input) / 8.0; }
};

// Keeps the cheapest choice.
struct Search {
  GemmChoice best;
  double least = std::numeric_limits<double>::infinity();

  void offer(double clocks, const GemmTile& tile, int split) {
    if (clocks >= least) return;
    least = clocks;
    best.tile = tile;
    best.split = split;
  }
};

template <class Visit>
void each_tile(bool block_scaled, const Gpu& gpu, Visit visit) {
  for (const int m : kRows)
    for (const int n : kColumns)
      if (is_offered(m, n, block_scaled)) visit(tile_of(m, n, gpu));
}

GemmChoice finished(GemmChoice choice, const Cost& cost, bool direct) {
  const GemmTile& tile = choice.tile;
  choice.tile_k = static_cast<int>(kStepBytes / cost.element());
  const double stage = 1.0 * (tile.m + tile.n) * kStepBytes;
  choice.stages = static_cast<int>(std::clamp(in_bytes(cost.gpu.shared_memory.per_cta) / stage, 1.0, 2.0));
  choice.concurrent = Count{cost.gpu.sms} * tile.ctas_per_sm;
  choice.reduction_kernel = false;
  choice.joining_clocks = choice.split > 1 ? cost.latency.split_clocks : 0.0;
  choice.direct_weights = direct;
  choice.shared_per_result = bytes(kMfmaEpilogue);
  choice.scale_slots = is_block_scaled(cost.format) ? kScaleSlots * choice.tile_k / kScaleDepth : 0.0;
  return choice;
}

}  // namespace

bool takes_mfma(const MathPath& math, const Gpu& gpu) { return gpu.cdna3_or_later() && math.pipe == Pipe::tensor; }

bool has_direct_weights(const Format& format, const Context& context) {
  if (bits_of(format.math) == 16 && !context.kernel_source.says(KernelSource::Word::batched)) return true;
  return context.kernel_source.says(KernelSource::Word::preshuffle);
}

GemmChoice choose_mfma(const GemmProblem& p, const Format& format, const MathPath& math, const Gpu& gpu,
                       const Context& context) {
  const Cost cost{format, math, gpu};
  const double m = real(p.m), n = real(p.n), k = real(p.k);
  Work work;
  work.k = k, work.direct = has_direct_weights(format, context);
  work.dram =
      (format.activation_bytes(m * k) + format.weight_bytes(n * k) + format.output_bytes(m * n)) * real(p.batch);
  const Count all_steps = ceil_div(static_cast<Count>(k * cost.element()), kStepBytes);
  Search search;
  each_tile(is_block_scaled(format), gpu, [&](const GemmTile& tile) {
    const Count tall = ceil_div(p.m, tile.m), wide = ceil_div(p.n, tile.n);
    work.tiles = p.batch * tall * wide;
    work.rows = m / real(tall), work.columns = n / real(wide);
    for (const int split : kSplits) {
      if (split > 1 && (all_steps < Count{split} * kLeastStepsPerSplit || tile.m * tile.n > kSplitResults)) break;
      search.offer(cost.clocks(work, tile, split), tile, split);
    }
  });
  return finished(search.best, cost, work.direct);
}

GemmChoice choose_grouped_mfma(const GroupedProblem& problem, const Format& format, const MathPath& math,
                               const Gpu& gpu, const Context& context) {
  const Cost cost{format, math, gpu, true};
  const double rows = real(std::accumulate(problem.rows.begin(), problem.rows.end(), Count{0}));
  const double n = real(problem.n), k = real(problem.k), experts = real(static_cast<Count>(problem.rows.size()));
  Work work;
  work.k = k, work.direct = has_direct_weights(format, context) || context.engine == Launcher::aiter;
  work.dram = format.activation_bytes(rows * k) + format.weight_bytes(experts * n * k) + format.output_bytes(rows * n);
  Search search;
  each_tile(is_block_scaled(format), gpu, [&](const GemmTile& tile) {
    work.tiles = problem.tiles(tile);
    const double wide = real(ceil_div(problem.n, tile.n));
    work.rows = rows * wide / real(work.tiles), work.columns = n / wide;
    search.offer(cost.clocks(work, tile, 1), tile, 1);
  });
  return finished(search.best, cost, work.direct);
}

}  // namespace tilecast
