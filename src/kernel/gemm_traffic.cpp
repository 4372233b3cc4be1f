#include "kernel/gemm_traffic.h"

#include <algorithm>
#include <cmath>

#include "constants/product.h"
#include "support/arithmetic.h"

namespace tilecast {

using namespace constants;

namespace {

// Tiles go out in groups of eight along one side, each group swept along the other: along m if clusters span m,
// otherwise along n (chosen on the DRAM reads of 18 products beyond L2, data/measurements/h200_counters.csv: within 10
// % in the median). The swept operand is read again for every group, the grouped one for every round within a group.
struct Sweep {
  Restream swept, grouped;
};
Sweep sweep_of(const TileGrid& grid, bool along_m, Bytes swept, Bytes grouped, Bytes result) {
  const double lines = real(along_m ? grid.m : grid.n), length = real(along_m ? grid.n : grid.m);
  const double group = std::min(lines, std::max<double>(kSweepGroup, grid.concurrent / length));
  const double rounds = std::max(1.0, lines * length / grid.concurrent);
  const double side_by_side = std::min(length, grid.concurrent / group);
  const Bytes group_bytes = grouped * (group / lines);
  Sweep sweep;
  sweep.swept.passes = std::max(1.0, std::min(lines / group, rounds));
  sweep.swept.distance = swept + group_bytes + result / sweep.swept.passes;
  sweep.grouped.passes = std::max(1.0, group * length / grid.concurrent);
  sweep.grouped.distance = group_bytes + swept * (side_by_side / length) + result / rounds;
  return sweep;
}

}  // namespace

// Hopper's L2 serves simultaneous requests of neighbouring SMs for a line once. The number of neighbours fits the
// measured L2 requests of products; it is assumed for later generations, for which there are no counters.
int coalesced_requests(const Gpu& gpu) {
  return gpu.architecture == Architecture::hopper || gpu.architecture == Architecture::blackwell ? kCoalescedSms : 1;
}

// CTAs drift apart round by round.
LoadShares asked_of_l2(const GemmTile& tile, const LoadSharing& sharing, double m, double n, double rounds) {
  const LoadShares multicast{1 / std::min<double>(sharing.cluster_n, n), 1 / std::min<double>(sharing.cluster_m, m)};
  if (sharing.coalesced <= 1) return multicast;
  LoadShares best = multicast;
  for (int along_n = 1; along_n <= sharing.coalesced; along_n *= 2) {
    const double along_m = static_cast<double>(sharing.coalesced) / along_n;
    const LoadShares merged{std::min(multicast.x, 1 / std::min<double>(along_n, n)),
                            std::min(multicast.w, 1 / std::min(along_m, m))};
    if (merged.x * tile.m + merged.w * tile.n < best.x * tile.m + best.w * tile.n) best = merged;
  }
  const double drift = rounds == 1 ? 1 : std::pow(rounds, double{kCoalescedDrift});
  const double share = kCoalescedShare * drift;
  return {multicast.x + (best.x - multicast.x) * share, multicast.w + (best.w - multicast.w) * share};
}

TileGrid grid_of(const GemmProblem& p, const GemmChoice& choice) {
  TileGrid grid{ceil_div(p.m, choice.tile.m), ceil_div(p.n, choice.tile.n), 1, 1};
  const double tiles = real(grid.m) * real(grid.n);
  if (choice.concurrent == 0) return {grid.m, grid.n, 1, tiles};
  grid.rounds = std::max(1.0, real(p.batch) * tiles * choice.split / real(choice.concurrent));
  grid.concurrent = std::max(1.0, real(choice.concurrent) / choice.split);
  return grid;
}

Restreams restreams_of(const TileGrid& grid, const GemmChoice& choice, const ProductBytes& bytes) {
  if (choice.cluster_m > 1 || choice.cluster_n == 1) {
    const Sweep sweep = sweep_of(grid, true, bytes.w, bytes.x, bytes.written);
    return {sweep.grouped, sweep.swept};
  }
  const Sweep sweep = sweep_of(grid, false, bytes.x, bytes.w, bytes.written);
  return {sweep.swept, sweep.grouped};
}

// Rows of x are read once per column of tiles, and vice versa. Kernels that load by TMA ask for whole tiles, rows
// beyond the edge included; others mask those.
Bytes asked_by_cta(const GemmProblem& p, const Format& format, const GemmChoice& choice, const TileGrid& grid) {
  const LoadShares asked = asked_of_l2(choice.tile, {choice.cluster_m, choice.cluster_n, choice.coalesced},
                                       real(grid.m), real(grid.n), grid.rounds);
  const bool whole = choice.persistent;
  const double rows = whole ? choice.tile.m : real(p.m) / real(grid.m);
  const double columns = whole ? choice.tile.n : real(p.n) / real(grid.n);
  const double depth = real(p.k) / choice.split;
  return format.activation_bytes(rows * depth) * asked.x + format.weight_bytes(columns * depth) * asked.w;
}

}  // namespace tilecast
