// Tiles of the flash-attention kernels: the published tables, and what one tile demands of an SM.
#pragma once

#include <algorithm>

#include "kernel/attention.h"
#include "kernel/plan.h"

namespace tilecast {

// Bytes of one element of each tensor.
struct AttentionBytes {
  double q = 2, kv = 2, out = 2;
};

struct FlashTile {
  AttentionAlgorithm algorithm = AttentionAlgorithm::fa2;
  int m = 128, n = 64;            // query rows and keys of a step
  int computed_rows = 0;          // rows its warps compute, if they span more than it has; 0: its rows
  int qk_dim = 128, v_dim = 128;  // head dimensions as computed: padded to the kernel's
  int stages = 1;
  CtaShape cta;
  int readers = 4;      // warps or warp groups that each read all of K and V from shared memory
  bool packed = false;  // query heads of a group are rows of the same tile
  bool known = true;    // from the library's own table, unchanged
  bool vector = false;  // multiplies on the vector pipe
  bool serial = false;  // the waits below are clocks of the SM that concurrent CTAs share
  // Exposed waits of a task, a key block and a key; zero: the card's own step for each block.
  double task_clocks = 0, block_clocks = 0, key_clocks = 0;

  int rows_computed() const { return std::max(m, computed_rows); }
};

// What determines the choice of a tile.
struct TileQuestion {
  AttentionAlgorithm algorithm = AttentionAlgorithm::fa2;  // resolved
  AttentionHeads heads;
  AttentionBytes bytes;
  Count q_len = 0;  // longest
  bool causal = true;
  bool window = false;
  bool variable = false;  // requests of different lengths
  Count page_size = 0;    // of a paged cache; 0: contiguous
  // A CTA for the queries of every head, over all of their keys: heads of a group never share a tile, keys are not
  // split.
  bool cta_for_head = false;
};

FlashTile forward_tile(const TileQuestion& question, const Gpu& gpu);
// FlashAttention 2 uses another kernel if keys are split over CTAs or the cache is paged.
FlashTile fa2_split_tile(const TileQuestion& question, const Gpu& gpu);

// FlashAttention 3 as built for Ampere and Ada: tiles on mma.sync, heads of a group packed into rows.
FlashTile fa3_mma_tile(const TileQuestion& question, const Gpu& gpu);

// FlashInfer's kernels for prefill before Hopper: a group's heads are always rows of one tile.
FlashTile flashinfer_tile(const TileQuestion& question, const Gpu& gpu);

// CTAs that share the keys of one query tile, by each library's heuristic. `tiles`: query tiles over all requests and
// heads; `blocks`: key blocks of the longest request.
int fa2_splits(Count tiles, Count blocks, const Gpu& gpu);
int fa3_splits(Count tiles, Count blocks, const Gpu& gpu);
int blackwell_splits(Count tiles, Count blocks, const Gpu& gpu);
int flashinfer_splits(Count tiles, Count keys, const Gpu& gpu);

// One task: `blocks` key blocks against one tile of queries, of which `rows` rows and `keys` keys are real.
struct TileWork {
  Count blocks = 0, rows = 0;
  double keys = 0;  // a mean if it represents several tiles
};
// `kv_dim`: elements of K and V together per key, as read. `out`: bytes of a result element (4 for partial results).
Demand tile_demand(const FlashTile& tile, const TileWork& work, const AttentionHeads& heads, Count kv_dim,
                   const AttentionBytes& bytes, const MathPath& math);

// Rounds a head dimension up to one the kernels are compiled for.
int compiled_dim(Count dim, AttentionAlgorithm algorithm = AttentionAlgorithm::fa2);
// Halves the key block, then the rows, until a CTA fits; a tile changed this way is no longer the library's.
void fit_shared(FlashTile& tile, double q_element, double kv_element, const Gpu& gpu);

}  // namespace tilecast
