// The tile, cluster and split-K that cuBLAS chooses on Hopper's tensor pipe.
//
// cuBLAS publishes neither its kernels nor its heuristic, but its kernels' names reveal the tile
// (nvjet_sm90_tst_AxB_KxS_CxD: A columns of the result, B rows, main-loop depth, stages, cluster). The 3,545 names of
// data/measurements/h200_kernels.csv.gz show 180 tiles: one side a multiple of 64 (the rows of a wgmma), the other of 8
// (its columns), on either side of the product, cut so that the tiles just fill one or a few rounds of the SMs.
#pragma once

#include "kernel/gemm_tile.h"

namespace tilecast {

// Persistent kernels of 16-byte-aligned operands; others run older kernels (see takes_wgmma).
GemmChoice choose_wgmma(const GemmProblem& problem, const MathPath& math, const Gpu& gpu, bool batched);

// TMA needs rows of whole 16 bytes: with other n or k cuBLAS falls back to kernels of earlier generations.
bool takes_wgmma(const GemmProblem& problem, const MathPath& math, const Gpu& gpu);

// CTAs that share loads by multicast, along the rows and the columns of the result: four or eight where the launch
// leaves an eleventh of the SMs free (GPCs have odd sizes: clusters of four fill 120 of 132 SMs), else two.
struct CtaCluster {
  int m = 1, n = 1;
};
CtaCluster cluster_for(const GemmProblem& problem, int tile_m, int tile_n, int split, const Gpu& gpu);

}  // namespace tilecast
