#include "tune/triton_cost.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <utility>

#include "constants/tune.h"
#include "kernel/moe_tiles.h"
#include "support/arithmetic.h"

namespace tilecast {

using namespace constants::triton;

namespace {

// The grid of a launch.
struct Grid {
  double row_blocks = 0, idle_row_blocks = 0, cols = 0;
  double rows_of_block = 0;  // that are not padding, in the mean
  double blocks_of_expert = 0;
};

Grid grid_of(const TritonProblem& p, const TritonConfig& c) {
  Count blocks = 0, rows = 0;
  for (const Count r : p.rows) blocks += ceil_div(r, c.m), rows += r;
  // moe_align_block_size: the most blocks any routing can need.
  const Count most = ceil_div(std::min(rows + p.experts * (c.m - 1), rows * c.m), c.m);
  return {real(blocks), real(std::max<Count>(0, most - blocks)), real(ceil_div(p.n, c.n)), real(rows) / real(blocks),
          real(blocks) / static_cast<double>(p.rows.size())};
}

// Elements of k-wide rows that one step reads from shared memory: how often depends on how warps split the tile.
double shared_rows_read(const TritonConfig& c, bool warpgroup) {
  int along_m = 1, along_n = 1;
  if (warpgroup) {  // each 64 rows read all columns of their warp group
    along_m = std::min(c.warps / 4, c.m / 64);
    along_n = c.warps / 4 / along_m;
    return real(c.m) * along_n + real(c.n) * c.m / 64;
  }
  // Triton gives warps to the longer side in units of 16 x 16 (warpsPerTileV2).
  while (along_m * along_n < c.warps) {
    const bool rows_left = along_m * 16 < c.m, cols_left = along_n * 8 < c.n;
    const bool longer = real(c.m) / along_m >= real(c.n) / along_n;
    if ((rows_left && longer) || !cols_left) along_m *= 2;
    else along_n *= 2;
  }
  return real(c.m) * along_n + real(c.n) * along_m;
}

// Cycles of one CTA's step on each part of an SM, alone.
struct Step {
  double tensor = 0, shared = 0, slots = 0, l2 = 0;
  double bytes = 0;  // loaded

  double busy(double p) const { return p_norm(p_norm(tensor, shared, p), p_norm(slots, l2, p), p); }
  std::string_view longest() const {
    const std::array<std::pair<double, std::string_view>, 4> parts = {
        {{tensor, "tensor"}, {shared, "shared memory"}, {slots, "instructions"}, {l2, "L2"}}};
    return std::max_element(parts.begin(), parts.end())->second;
  }
};

Step step_of(const TritonConfig& c, const Grid& grid, const Format& format, const MathPath& math, const Gpu& gpu,
             bool warpgroup, double l2_cost, const TritonConstants& t) {
  const double element = in_bytes(size_of(math.input));
  const double read = shared_rows_read(c, warpgroup) * c.k * element;
  const double whole = in_bytes(format.activation_bytes(c.m * c.k) + format.weight_bytes(c.n * c.k));
  const bool mma_on_hopper = !warpgroup && gpu.tensor_generation() == TensorGeneration::wgmma;
  Step step;
  step.bytes = in_bytes(format.activation_bytes(grid.rows_of_block * c.k) + format.weight_bytes(c.n * c.k));
  step.tensor = 2.0 * c.m * c.n * c.k / math.ops_per_clock / (mma_on_hopper ? kMmaOnHopper : 1.0);
  step.shared = (read + step.bytes) / in_bytes(gpu.shared_memory.per_clock) * (warpgroup ? t.warpgroup_shared : 1);
  // Four schedulers. mma.sync: one instruction a 16 x 8 x 16 product, one ldmatrix a 512 bytes.
  const double products = warpgroup ? 0 : real(c.m) * c.n * c.k * element / 2 / (16 * 8 * 16) + read / 512;
  step.slots = (whole / 512 * t.load_slots + products) / 4;
  step.l2 = l2_cost * step.bytes * std::max(1 / kPortBytes, gpu.sms / in_bytes(gpu.l2.per_clock));
  return step;
}

// CTAs that run together cover `rows` blocks of rows by `cols` blocks of columns; rows of several experts share no
// columns.
struct Together {
  double rows = 0, cols = 0, experts = 0;
};
Together together(const TritonConfig& c, const Grid& grid, double concurrent) {
  Together found;
  found.rows = std::min(std::max<double>(c.group, concurrent / grid.cols), grid.row_blocks);
  found.cols = std::min(grid.cols, concurrent / found.rows);
  found.experts = std::max(1.0, found.rows / grid.blocks_of_expert);
  return found;
}

// Bytes DRAM moves: weights of the experts in use, activations and results.
double dram_bytes(const TritonProblem& p, const TritonConfig& c, const Grid& grid, const Together& all,
                  const Format& format, const Gpu& gpu) {
  const double cache = in_bytes(gpu.resident_capacity());
  const double rows = grid.rows_of_block * grid.row_blocks;
  const double of_expert = in_bytes(format.weight_bytes(real(p.n) * real(p.k)));
  const double inputs = in_bytes(format.activation_bytes(rows / real(p.share) * real(p.k)));
  const double weights = of_expert * static_cast<double>(p.rows.size());
  if (!p.weights_cold && weights + inputs < kCachedShare * cache) return 0;
  const double rows_of_expert = std::min(all.rows, grid.blocks_of_expert);
  const double weight_passes =
      of_expert <= cache ? 1 : std::max(1.0, std::ceil(grid.blocks_of_expert / rows_of_expert));
  const double slab = std::min(of_expert, in_bytes(format.weight_bytes(all.cols * all.experts * c.n * real(p.k))));
  const double inputs_of_group = inputs * all.rows / grid.row_blocks;
  const double input_passes = inputs_of_group + slab <= cache ? 1 : std::max(1.0, grid.cols / all.cols);
  return weights * weight_passes + inputs * input_passes + in_bytes(format.output_bytes(rows * real(p.n)));
}

}  // namespace

TritonCost triton_cost(const TritonProblem& p, const TritonConfig& c, const Format& format, const MathPath& math,
                       const Gpu& gpu, const TritonConstants& t) {
  assert(!p.rows.empty() && p.n > 0 && p.k > 0);
  const TritonFootprint found = footprint_of(c, format, gpu);
  const double resident = std::max(1, found.ctas_per_sm), concurrent = resident * gpu.sms;
  const Grid grid = grid_of(p, c);
  GemmChoice choice;
  choice.tile_k = c.k;
  const PieceCost pieces = piece_cost(choice, format, gpu);
  const Step step = step_of(c, grid, format, math, gpu, found.warpgroup, pieces.l2, t);
  const Together all = together(c, grid, concurrent);
  const double steps = real(ceil_div(p.k, c.k));
  const double chain = step.tensor + (found.warpgroup ? 0 : step.shared);
  // With two stages the loads of a step start when the last one's operands are read.
  const double wait = (t.latency + step.l2) / std::max(1, c.stages - 1) + (c.stages <= 2 ? chain : 0);
  const double busy = step.busy(t.step_norm), alone = p_norm(chain, wait, t.step_norm);
  const double store = in_bytes(format.output_bytes(grid.rows_of_block * c.n)) / kPortBytes;
  const auto cta_cycles = [&](double q) {
    return t.prologue + steps * p_norm(q * busy, alone, t.step_norm) + q * store;
  };

  TritonCost cost;
  cost.ctas = grid.row_blocks * grid.cols;
  cost.rounds = cost.ctas / concurrent;
  cost.ctas_per_sm = found.ctas_per_sm;
  const double full = std::floor(cost.rounds), rest = cost.ctas - full * concurrent;
  double cycles = full * cta_cycles(resident) + (rest > 0 ? cta_cycles(std::ceil(rest / gpu.sms)) : 0);
  cycles += grid.idle_row_blocks * grid.cols * t.idle_cta / concurrent;
  cost.sm = seconds(cycles / (in_megahertz(gpu.clock.max) * 1e6));
  const double line = 128 / in_bytes(format.weight_bytes(c.k));
  cost.dram = bytes(dram_bytes(p, c, grid, all, format, gpu)) / (gpu.dram.bandwidth * kDramShare) *
              (pieces.dram * (1 + t.piece * line));
  cost.total = microseconds(kLaunch) + seconds(p_norm(in_seconds(cost.sm), in_seconds(cost.dram), t.dram_norm));
  const double q = std::min(resident, std::ceil(cost.ctas / gpu.sms));
  cost.limit = cost.dram > cost.sm ? "DRAM" : alone > q * busy ? "latency" : step.longest();
  return cost;
}

}  // namespace tilecast
