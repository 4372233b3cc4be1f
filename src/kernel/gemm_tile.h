// The tiles a cuBLAS-like library offers, and its choice among them.
#pragma once

#include <span>

#include "kernel/plan.h"

namespace tilecast {

// A matrix product y[m,n] = x[m,k] w[k,n], `batch` times. Rows of x are tokens, columns of y output features.
struct GemmProblem {
  Count batch = 1, m = 0, n = 0, k = 0;
};

struct GemmTile {
  int m = 0, n = 0;
  int threads = 128;
  int registers = 128;
  int ctas_per_sm = 1;             // resident at once
  int reuse_m = 64, reuse_n = 64;  // operand reuse of one multiply instruction group, for shared-memory traffic
};

struct GemmChoice {
  GemmTile tile;
  int split = 1;
  int tile_k = 64;  // elements of k per main-loop step
  int stages = 4;
  bool reduction_kernel = true;  // a second kernel joins the partial sums of a split; otherwise the CTAs do, in place
  int cluster_m = 1, cluster_n = 1;  // CTAs along m and n that share loads by multicast
  bool persistent = false;           // at most one round of CTAs walks the tiles
  Count concurrent = 0;              // CTAs the GPU runs at once; zero: unknown, and no re-reads are forecast
  int coalesced = 1;                 // SMs whose simultaneous requests for the same line L2 serves once
  bool past_registers = false;       // a SIMT kernel's tiles reach shared memory without passing registers
  bool direct_weights = false;       // weights go into registers, bypassing shared memory
  Bytes shared_per_result;           // through shared memory on a result's way out
  double scale_slots = 0;            // vector slots per result in every step, for its scales
  double result_slots = 0;           // vector slots per result outside the main loop
  double latency_steps = 0;          // steps of kernel/pipeline.h that a step waits as long as; zero: by its depth
  double joining_clocks = 0;         // to add up the parts of a split after the main loop
  double products_per_clock = 0;  // multiply-adds of an SM, where the kernel reaches no more; zero: as many as the pipe
  double epilogue_clocks = 0;     // of a tile, beyond a common kernel's, that nothing on the SM overlaps
};

// Elements of k in one main-loop step: 128 bytes of an operand row on the tensor pipe, 8 elements in SIMT kernels.
int step_depth(const MathPath& math);

// Whose choice it is. cuBLAS treats single and strided-batched products differently; convolutions are cuDNN's.
enum class GemmRoutine : std::uint8_t { linear, batched, other };

// The tile and split the library would choose on this GPU.
GemmChoice choose_gemm(const GemmProblem& problem, const MathPath& math, const Gpu& gpu,
                       GemmRoutine routine = GemmRoutine::other);

// The tiles considered on a math path.
std::span<const GemmTile> gemm_tiles(const MathPath& math, const Gpu& gpu);

}  // namespace tilecast
