// Choices of matrix products that tests of their plans, traffic and bounds share.
#pragma once

#include "gpu/registry.h"
#include "kernel/gemm.h"
#include "kernel/gemm_tile.h"

namespace tilecast {

// cuBLAS's kernel for large bf16 products on H200: 256 columns, 128 rows, pairs of CTAs along m.
inline GemmChoice large_choice() {
  GemmChoice choice;
  choice.tile = {128, 256, 384, 168, 1, 64, 64};
  choice.cluster_m = 2;
  choice.persistent = true;
  choice.concurrent = 132;
  return choice;
}

inline GemmChoice plain_choice(int tile_m, int tile_n, int split = 1) {
  GemmChoice choice;
  choice.tile = {tile_m, tile_n, 128, 128, 1, 64, 64};
  choice.split = split;
  return choice;
}

inline Launch launch_of(const GemmProblem& p, const GemmChoice& choice, std::string_view dtype = "bf16",
                        std::string_view gpu = "H200") {
  const Format format = *format_from(dtype);
  return gemm_launch(p, format, *math_path(format, *find_gpu(gpu)), true, choice);
}

}  // namespace tilecast
