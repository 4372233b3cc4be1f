// What a matrix product demands of L2 and how often it streams its operands from DRAM, given its tile order and
// clusters.
#pragma once

#include "kernel/gemm_tile.h"

namespace tilecast {

// The grid of tiles of one product, and how many of them run at once.
struct TileGrid {
  Count m = 1, n = 1;     // tiles along each side
  double rounds = 1;      // of all products together
  double concurrent = 1;  // concurrent tiles of one product
};
TileGrid grid_of(const GemmProblem& problem, const GemmChoice& choice);

// How often the launch streams an operand past L2 when nothing stays there, and what passes between two reads.
struct Restream {
  double passes = 1;
  Bytes distance;
};
struct Restreams {
  Restream x, w;
};
// Bytes of one product: both operands and what it writes.
struct ProductBytes {
  Bytes x, w, written;
};
Restreams restreams_of(const TileGrid& grid, const GemmChoice& choice, const ProductBytes& bytes);

// Shares of a tile's loads of x and w that reach L2.
struct LoadShares {
  double x = 1, w = 1;
};
// CTAs whose loads may be merged: a cluster asks once for all its CTAs, and L2 serves simultaneous requests of
// `coalesced` neighbours once.
struct LoadSharing {
  int cluster_m = 1, cluster_n = 1, coalesced = 1;
};
int coalesced_requests(const Gpu& gpu);
// For a product of `m` by `n` tiles, run in `rounds`.
LoadShares asked_of_l2(const GemmTile& tile, const LoadSharing& sharing, double m, double n, double rounds);

// Bytes one CTA asks of L2.
Bytes asked_by_cta(const GemmProblem& problem, const Format& format, const GemmChoice& choice, const TileGrid& grid);

}  // namespace tilecast
