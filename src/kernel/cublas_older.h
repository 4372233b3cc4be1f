// The kernels of earlier generations that cuBLAS runs on Hopper where its own take no part: rows that do not start at
// multiples of 16 bytes, which the copy engines cannot fetch, and tf32, whose small products stay with Ampere's.
//
// Kernels' names on an H200 (data/measurements/h200_products_kernels.csv.gz, 3,400 products) say which: of 16 bits,
// cutlass_80_tensorop_s16816 (align2) where rows start at multiples of 4 bytes, else cutlass_75_tensorop_s1688
// (align1), both with wmma tiles of 32 for small ones; of tf32, sm90_xmma's from a few hundred million products on,
// else cutlass_80_tensorop_s1688.
#pragma once

#include "kernel/gemm_tile.h"

namespace tilecast {

// Where the rows of matrices start: at multiples of 16 bytes, of 4, or anywhere. Those of tf32 start at multiples of 4.
enum class Alignment : std::uint8_t { full, half, none };

bool takes_older(const MathPath& math, const Gpu& gpu, Alignment alignment);
GemmChoice choose_older(const GemmProblem& problem, const MathPath& math, const Gpu& gpu, Alignment alignment,
                        bool batched);

}  // namespace tilecast
