#include "kernel/grouped_gemm.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "constants/estimate.h"
#include "constants/product.h"
#include "kernel/gemm.h"
#include "kernel/gemm_traffic.h"
#include "kernel/pipeline.h"
#include "support/arithmetic.h"

namespace tilecast {

using namespace constants;

namespace {

// Bytes that main-loop steps of one tile ask of L2 for each element of depth, over all of k.
double tile_request(const GemmTile& tile, const GroupedProblem& problem, double element, const Gpu& gpu) {
  const double columns = real(ceil_div(problem.n, tile.n));
  const double tall = real(problem.tiles(tile)) / columns / real(static_cast<Count>(problem.rows.size()));
  // The CTAs of one expert share its rows or its weights; clusters share loads by multicast to the same effect.
  const LoadShares asked = asked_of_l2(tile, {.coalesced = coalesced_requests(gpu)}, tall, columns, 1);
  return (asked.x * tile.m + asked.w * tile.n) * element;
}

}  // namespace

Count GroupedProblem::tiles(const GemmTile& tile) const {
  Count tall = 0;
  for (const Count r : rows) tall += ceil_div(r, tile.m);
  return tall * ceil_div(n, tile.n);
}

GemmChoice choose_grouped(const GroupedProblem& problem, const MathPath& math, const Gpu& gpu) {
  const PipelineLatency latency = pipeline_latency(gpu);
  const double rate = math.ops_per_clock * product_efficiency(gpu);
  const int depth = step_depth(math);
  const double element = bits_of(math.input) / 8.0;
  const double step_latency =
      math.pipe == Pipe::tensor ? latency.step_clocks : latency.step_clocks * depth / kReferenceDepth;
  const double steps = real(ceil_div(problem.k, depth));
  GemmChoice best;
  best.tile_k = depth;
  best.coalesced = coalesced_requests(gpu);
  double least = std::numeric_limits<double>::infinity();
  for (const GemmTile& tile : gemm_tiles(math, gpu)) {
    const double rows = real(std::min<Count>(tile.m, problem.rows.front()));
    const double columns = real(std::min<Count>(tile.n, problem.n));
    const double step = std::max({2.0 * tile.m * tile.n * depth / rate,
                                  (rows + columns) * depth * element / latency.feed, step_latency / tile.ctas_per_sm});
    const Count tiles = problem.tiles(tile);
    const double waves = real(ceil_div(tiles, gpu.sms));
    const double requested = real(tiles) * steps * depth * tile_request(tile, problem, element, gpu);
    const double l2_clocks = requested / (in_bytes(gpu.l2.per_clock) * gpu.tuned(kL2Efficiency));
    const double clocks =
        std::max(waves * steps * step, l2_clocks) + latency.task_clocks * (1 + latency.wave_share * (waves - 1));
    if (clocks < least) {
      least = clocks;
      best.tile = tile;
    }
  }
  return best;
}

Launch grouped_launch(const GroupedProblem& problem, const Format& format, const MathPath& math,
                      const GemmChoice& choice) {
  const GemmTile& tile = choice.tile;
  // Arithmetic and shared memory of a tile are a full tile's, whatever its real rows.
  const Launch one = gemm_launch({1, tile.m, tile.n, problem.k}, format, math, true, choice);
  const Count columns = ceil_div(problem.n, tile.n);
  const double n = static_cast<double>(problem.n), k = static_cast<double>(problem.k);

  Launch launch = one;
  launch.operands = {};
  launch.required = {};
  launch.tasks.clear();
  launch.ctas = problem.tiles(tile);
  double all_rows = 0;
  // CTAs of a cluster stay together, and so do all CTAs if their number is unknown.
  const double rounds = choice.concurrent > 0 ? std::max(1.0, real(launch.ctas) / real(choice.concurrent)) : 1.0;
  for (auto first = problem.rows.begin(); first != problem.rows.end();) {
    const Count tall = ceil_div(*first, tile.m);
    double rows = 0, experts = 0;
    auto next = first;
    for (; next != problem.rows.end() && ceil_div(*next, tile.m) == tall; ++next, ++experts)
      rows += static_cast<double>(*next);
    TaskGroup group = one.tasks.front();
    group.count = static_cast<Count>(experts) * tall * columns;
    const double tasks = static_cast<double>(group.count);
    // Each column of tiles reads its rows once; each row of tiles reads the expert's weights once. Masked rows are not
    // read.
    const LoadShares asked = asked_of_l2(tile, {.coalesced = choice.coalesced}, real(tall), real(columns), rounds);
    group.each.l2_load = (format.activation_bytes(rows * k * static_cast<double>(columns)) * asked.x +
                          format.weight_bytes(experts * static_cast<double>(tall) * n * k) * asked.w) *
                         (1 / tasks);
    group.each.l2_store = format.output_bytes(rows * n) / tasks;
    launch.tasks.push_back(group);
    all_rows += rows;
    first = next;
  }
  (math.pipe == Pipe::tensor ? launch.required.tensor : launch.required.vector) = ops(2 * all_rows * n * k);
  return launch;
}

}  // namespace tilecast
