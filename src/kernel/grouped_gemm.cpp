#include "kernel/grouped_gemm.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernel/gemm.h"
#include "kernel/pipeline.h"

namespace tilecast {

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
  const double step_latency = math.pipe == Pipe::tensor ? latency.step_clocks : latency.step_clocks * depth / 64;
  const double steps = static_cast<double>(ceil_div(problem.k, depth));
  GemmChoice best;
  best.tile_k = depth;
  double least = std::numeric_limits<double>::infinity();
  for (const GemmTile& tile : gemm_tiles(math, gpu)) {
    const double rows = static_cast<double>(std::min<Count>(tile.m, problem.rows.front()));
    const double columns = static_cast<double>(std::min<Count>(tile.n, problem.n));
    const double step = std::max({2.0 * tile.m * tile.n * depth / rate,
                                  (rows + columns) * depth * element / latency.feed, step_latency / tile.ctas_per_sm});
    const double waves = static_cast<double>(ceil_div(problem.tiles(tile), gpu.sms));
    const double clocks = waves * steps * step + latency.task_clocks * (1 + latency.wave_share * (waves - 1));
    if (clocks < least) {
      least = clocks;
      best.tile = tile;
    }
  }
  return best;
}

namespace {

// Shares of the loads of rows and of weights that reach L2, as gemm_traffic.cpp has it for one product: L2 serves
// simultaneous requests of neighbouring CTAs for a line once, CTAs of one expert that share its rows or its weights.
// They drift apart round by round (both constants from there).
struct Asked {
  double rows = 1, weights = 1;
};
Asked asked_of_l2(const GemmChoice& choice, double tall, double columns, double rounds) {
  constexpr double kCoalesced = 0.7, kDrift = -0.3;
  Asked best;
  for (int along_n = 1; along_n <= choice.coalesced; along_n *= 2) {
    const double along_m = static_cast<double>(choice.coalesced) / along_n;
    const Asked merged{1 / std::min<double>(along_n, columns), 1 / std::min(along_m, tall)};
    if (merged.rows * choice.tile.m + merged.weights * choice.tile.n <
        best.rows * choice.tile.m + best.weights * choice.tile.n)
      best = merged;
  }
  const double share = kCoalesced * std::pow(rounds, kDrift);
  return {1 - (1 - best.rows) * share, 1 - (1 - best.weights) * share};
}

// A request fetches up to one line; a main-loop step that takes less of each row leaves it partly empty. The exponent
// is read off SGLang's 64 x 64 x 32 configuration at many rows per expert: its L2 requests take 2.5 times as long as
// whole lines on A100 (also 2.4 L40S, 2.6 B200).
double partial_lines(double step_bytes) {
  constexpr double kLine = 128, kExponent = 1.3;
  return step_bytes >= kLine ? 1 : std::pow(kLine / step_bytes, kExponent);
}

}  // namespace

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
  const double rounds = choice.concurrent > 0
                            ? std::max(1.0, static_cast<double>(launch.ctas) / static_cast<double>(choice.concurrent))
                            : 1.0;
  const double lines = partial_lines(in_bytes(format.activation_bytes(choice.tile_k)));
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
    const Asked asked = asked_of_l2(choice, static_cast<double>(tall), static_cast<double>(columns), rounds);
    group.each.l2_load = (format.activation_bytes(rows * k * static_cast<double>(columns)) * asked.rows +
                          format.weight_bytes(experts * static_cast<double>(tall) * n * k) * asked.weights) *
                         (lines / tasks);
    group.each.l2_store = format.output_bytes(rows * n) / tasks;
    launch.tasks.push_back(group);
    all_rows += rows;
    first = next;
  }
  (math.pipe == Pipe::tensor ? launch.required.tensor : launch.required.vector) = ops(2 * all_rows * n * k);
  return launch;
}

}  // namespace tilecast
