// What the names of cuBLAS kernels on Hopper tell: nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT is a tile of 256
// columns and 128 rows of the result, steps of 64 along k, 4 stages, clusters of 1 x 2 CTAs.
#pragma once

#include <optional>
#include <string_view>

#include "kernel/gemm_tile.h"

namespace tilecast {

struct NvjetKernel {
  int tile_m = 0, tile_n = 0;
  int depth = 64, stages = 4;
  int cluster_m = 1, cluster_n = 1;
  bool split_k = false;
};
std::optional<NvjetKernel> parse_nvjet(std::string_view name);

// Parts of the sum, from the CTAs launched: whole clusters for every part. Zero where the grid is not a multiple of
// them (a persistent grid over more parts than SMs does not tell).
int observed_split(const NvjetKernel& kernel, const GemmProblem& problem, Count ctas);

// Our choice with what the name tells put in its place; nothing where it does not tell all.
std::optional<GemmChoice> imposed_choice(GemmChoice ours, const NvjetKernel& kernel, const GemmProblem& problem,
                                         Count ctas);

// Operations of the tensor pipe, padding included, relative to another tile and split of the same product.
double padded_operations(const GemmProblem& problem, int tile_m, int tile_n, int depth, int split);

}  // namespace tilecast
