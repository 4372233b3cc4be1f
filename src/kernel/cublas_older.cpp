#include "kernel/cublas_older.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "constants/product.h"
#include "kernel/gemm_traffic.h"
#include "kernel/pipeline.h"
#include "support/arithmetic.h"

namespace tilecast {

using namespace constants;

namespace {

// A kernel by its name: columns and rows of the tile, elements of k in a step, stages, threads.
struct OlderTile {
  const OlderKernel* kernel;
  int n, m, k, stages, threads;
};

constexpr std::array<OlderTile, 4> kUnalignedTiles = {{{&kTuringWmma, 32, 32, 32, 1, 128},
                                                       {&kTuringTensor, 64, 64, 32, 2, 128},
                                                       {&kTuringTensor, 128, 128, 32, 2, 128},
                                                       {&kTuringTensor, 256, 128, 32, 2, 256}}};
constexpr std::array<OlderTile, 9> kHalfAlignedTiles = {{{&kAmpereWmma, 16, 16, 128, 2, 32},
                                                         {&kAmpereWmma, 32, 32, 64, 2, 128},
                                                         {&kAmpereTensor, 64, 64, 64, 6, 128},
                                                         {&kAmpereTensor, 128, 64, 64, 3, 128},
                                                         {&kAmpereTensor, 64, 128, 64, 3, 128},
                                                         {&kAmpereTensor, 128, 128, 64, 3, 128},
                                                         {&kAmpereTensor, 256, 64, 64, 3, 128},
                                                         {&kAmpereTensor, 256, 128, 64, 3, 256},
                                                         {&kAmpereTensor, 128, 256, 64, 3, 256}}};
constexpr std::array<OlderTile, 6> ampere_tf32_tiles(const OlderKernel& kernel) {
  return {{{&kernel, 64, 64, 32, 6, 128},
           {&kernel, 128, 64, 32, 3, 128},
           {&kernel, 64, 128, 32, 3, 128},
           {&kernel, 128, 128, 32, 3, 128},
           {&kernel, 256, 128, 32, 3, 256},
           {&kernel, 128, 256, 32, 3, 256}}};
}
constexpr std::array<OlderTile, 6> kAmpereTf32Tiles = ampere_tf32_tiles(kAmpereTf32);
constexpr std::array<OlderTile, 6> kUnalignedTf32Tiles = ampere_tf32_tiles(kAmpereTf32Unaligned);
constexpr std::array<OlderTile, 7> kHopperTf32Tiles = {{{&kHopperTf32, 64, 64, 32, 4, 384},
                                                        {&kHopperTf32, 64, 128, 32, 4, 384},
                                                        {&kHopperTf32, 128, 64, 32, 4, 384},
                                                        {&kHopperTf32, 128, 128, 32, 4, 384},
                                                        {&kHopperTf32, 64, 256, 32, 4, 384},
                                                        {&kHopperTf32, 128, 256, 32, 4, 384},
                                                        {&kHopperTf32, 256, 128, 32, 4, 384}}};
constexpr std::array<int, 8> kOlderSplits = {1, 2, 3, 4, 6, 8, 16, 32};

bool is_tf32(const MathPath& math) { return bits_of(math.input) == 32; }

// sm90_xmma's kernels of tf32 share the steps of a tile among CTAs in place.
bool joins_in_place(const OlderTile& tile) { return tile.kernel == &kHopperTf32; }

std::span<const OlderTile> tiles_of(const GemmProblem& p, const MathPath& math, const Gpu& gpu, Alignment alignment,
                                    bool batched) {
  if (!is_tf32(math)) {
    if (alignment == Alignment::none) return kUnalignedTiles;
    return kHalfAlignedTiles;
  }
  if (alignment != Alignment::full) return kUnalignedTf32Tiles;
  const double products = real(p.batch) * real(p.m) * real(p.n) * real(p.k);
  const bool large = products > (batched ? kHopperTf32Batched : kHopperTf32Linear);
  if (large && gpu.tensor_generation() == TensorGeneration::wgmma) return kHopperTf32Tiles;
  return kAmpereTf32Tiles;
}

// Multiply-adds of an SM in a clock: those of its instructions, or those that the elements it loads suffice for.
double rate_of(const OlderTile& tile) {
  constexpr double kOverlap = 4;
  const double loaded = tile.kernel->elements / (1.0 / tile.m + 1.0 / tile.n);
  return 1 / p_norm(1 / tile.kernel->rate, 1 / loaded, kOverlap);
}

int registers_of(const OlderTile& tile) {
  constexpr int kMost = 255, kAddresses = 70;
  const double results = 1.0 * tile.m * tile.n / tile.threads;
  return std::min(kMost, kAddresses + static_cast<int>(results * 4 / 3));
}

double step_clocks_of(const OlderTile& tile) {
  return tile.kernel->step_clocks + tile.kernel->step_clocks_deep * tile.k / kReferenceDepth;
}

int resident_of(const OlderTile& tile, double element, const Gpu& gpu) {
  const double shared = (tile.m + tile.n) * tile.k * element * tile.stages;
  const double by_registers = 65536.0 / (registers_of(tile) * tile.threads);
  const double by_shared = in_bytes(gpu.shared_memory.per_sm) / shared;
  return std::max(1, static_cast<int>(std::min({by_registers, by_shared, 32.0})));
}

// Clocks of a product in a tile and a split.
double clocks_of(const OlderTile& tile, int split, const GemmProblem& p, double element, const Gpu& gpu) {
  const PipelineLatency latency = pipeline_latency(gpu);
  const double units = real(p.batch * ceil_div(p.m, tile.m) * ceil_div(p.n, tile.n) * split);
  const double busiest = std::ceil(units / gpu.sms);
  const double resident = std::min<double>(resident_of(tile, element, gpu), busiest);
  const double steps = real(ceil_div(ceil_div(p.k, tile.k), split));
  const double results = 1.0 * tile.m * tile.n;
  const double pipe = busiest * steps * results * tile.k / rate_of(tile);
  const double waits = busiest * steps * step_clocks_of(tile) / resident;
  const double rounds = std::ceil(busiest / resident);
  double clocks = std::max(pipe, waits) + latency.task_clocks * (1 + latency.wave_share * (rounds - 1)) +
                  busiest * results * tile.kernel->result_clocks;
  if (split > 1) {
    const double partials = real(p.batch) * real(p.m) * real(p.n) * split * 2 * sizeof(float);
    clocks += partials / in_bytes(gpu.l2.per_clock) + (joins_in_place(tile) ? 0 : latency.split_clocks);
  }
  return clocks;
}

}  // namespace

bool takes_older(const MathPath& math, const Gpu& gpu, Alignment alignment) {
  const TensorGeneration generation = gpu.tensor_generation();
  if (math.pipe != Pipe::tensor || gpu.vendor != Vendor::nvidia) return false;
  if (generation != TensorGeneration::wgmma && generation != TensorGeneration::tcgen05) return false;
  const int bits = bits_of(math.input);
  if (bits == 16) return alignment != Alignment::full;
  return bits == 32 && (alignment != Alignment::full || generation == TensorGeneration::wgmma);
}

GemmChoice choose_older(const GemmProblem& p, const MathPath& math, const Gpu& gpu, Alignment alignment, bool batched) {
  const double element = bits_of(math.input) / 8.0;
  const OlderTile* best = nullptr;
  int parts = 1;
  double least = std::numeric_limits<double>::infinity();
  for (const OlderTile& tile : tiles_of(p, math, gpu, alignment, batched)) {
    const bool splits = !batched || joins_in_place(tile);
    const Count tiles = p.batch * ceil_div(p.m, tile.m) * ceil_div(p.n, tile.n);
    const Count room = Count{gpu.sms} * (joins_in_place(tile) ? 1 : 2);
    for (const int split : kOlderSplits) {
      if (split > 1 && (!splits || p.k < Count{2} * tile.k * split || tiles * split > room)) break;
      const double clocks = clocks_of(tile, split, p, element, gpu);
      if (clocks >= least) continue;
      least = clocks, best = &tile, parts = split;
    }
  }
  GemmChoice choice;
  const int resident = resident_of(*best, element, gpu);
  // What a tile reads of shared memory again is part of its rate.
  choice.tile = {best->m, best->n, best->threads, registers_of(*best), resident, best->m, best->n};
  choice.split = parts;
  choice.tile_k = best->k;
  choice.stages = best->stages;
  choice.reduction_kernel = !joins_in_place(*best);
  choice.products_per_clock = rate_of(*best);
  choice.latency_steps = step_clocks_of(*best) / pipeline_latency(gpu).step_clocks;
  choice.epilogue_clocks = best->kernel->result_clocks * best->m * best->n;
  choice.concurrent = Count{gpu.sms} * resident;
  choice.coalesced = coalesced_requests(gpu);
  if (joins_in_place(*best)) {
    // As many as a launch of many tiles seems to share: with fewer, L2 would not keep up.
    choice.cluster_m = static_cast<int>(std::min<Count>(2, ceil_div(p.m, best->m)));
    choice.cluster_n = static_cast<int>(std::min<Count>(2, ceil_div(p.n, best->n)));
  }
  return choice;
}

}  // namespace tilecast
