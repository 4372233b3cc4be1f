#include "kernel/flash_tile.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "constants/attention.h"

namespace tilecast {

using namespace constants;

namespace {

constexpr int kMmaRegisters = 255;  // FlashAttention 2's main kernels use all there are

bool small_shared_ampere(const Gpu& gpu) {  // sm86, sm89: 100 KiB of shared memory
  return gpu.compute_capability == "8.6" || gpu.compute_capability == "8.9";
}

FlashTile base_tile(const TileQuestion& q) {
  FlashTile tile;
  tile.algorithm = q.algorithm;
  tile.qk_dim = compiled_dim(q.heads.qk_dim, q.algorithm);
  tile.v_dim = compiled_dim(q.heads.v_dim, q.algorithm);
  return tile;
}

double shared_bytes(const FlashTile& t, double q_element, double kv_element) {
  return t.m * t.qk_dim * q_element + double{1} * t.stages * t.n * (t.qk_dim + t.v_dim) * kv_element;
}

void set_warps(FlashTile& tile, int m, int n, int warps) {
  tile.m = m;
  tile.n = n;
  tile.readers = warps;
  tile.cta = {32 * warps, kMmaRegisters, bytes(0)};
}

// csrc/flash_attn/flash_api.cpp: a single query's group of heads becomes rows (seqlenq_ngroups_swapped), without a
// window.
bool fa2_packs(const TileQuestion& q) { return q.q_len == 1 && q.heads.group() > 1 && !q.window && !q.cta_for_head; }

// csrc/flash_attn/src/flash_fwd_launch_template.h, run_mha_fwd_hdim*, without dropout.
FlashTile fa2_tile(const TileQuestion& q, const Gpu& gpu) {
  FlashTile tile = base_tile(q);
  const int dim = std::max(tile.qk_dim, tile.v_dim);
  const bool small = small_shared_ampere(gpu);
  const bool causal_only = q.causal && !q.window;  // a window runs the non-causal instance
  if (dim <= 64) set_warps(tile, 128, 128, 4);
  else if (dim <= 96) set_warps(tile, small && causal_only ? 64 : 128, 64, 4);
  else if (dim <= 128) set_warps(tile, small && causal_only ? 64 : 128, small && !causal_only ? 32 : 64, 4);
  else if (dim <= 192) set_warps(tile, 128, 64, 8);
  else if (dim <= 256) {
    // 128 x 64 only if it fits and 64 x 64 would not fit twice: A100.
    const double per_cta = in_bytes(gpu.shared_memory.per_cta), per_sm = in_bytes(gpu.shared_memory.per_sm);
    const bool wide = per_cta >= 2.0 * dim * (128 + 2 * 64) && per_sm < 4.0 * dim * (64 + 2 * 64);
    set_warps(tile, wide ? 128 : 64, 64, wide ? 8 : 4);
  } else {
    set_warps(tile, 64, 32, 4);
    tile.known = false;
  }
  tile.packed = fa2_packs(q);
  // Written for 16-bit operands on sm80 and later.
  tile.known = tile.known && q.bytes.q == 2 && q.bytes.kv == 2 && gpu.vendor == Vendor::nvidia &&
               gpu.architecture >= Architecture::ampere;
  fit_shared(tile, q.bytes.q, q.bytes.kv, gpu);
  return tile;
}

// hopper/heuristics.h, should_pack_gqa: packing pays if the rows of one head fill their tiles badly.
bool packs_groups(const TileQuestion& q, int rows) {
  if (q.heads.group() == 1 || q.cta_for_head) return false;
  if (q.variable) return true;
  const auto filled = [&](Count length) {
    return static_cast<double>(length) / static_cast<double>(round_up(length, rows));
  };
  return filled(q.q_len) < kPackThreshold * filled(q.q_len * q.heads.group());
}

// Keys of a step: hopper/tile_size.h, tile_size_fwd_sm90.
int fa3_keys(const TileQuestion& q, int dim, int v_dim, bool paged) {
  if (dim > 256) return 64;  // beyond the table
  if (q.bytes.q >= 2) {
    const bool causal_only = q.causal && !q.window;
    if (dim <= 64) return causal_only ? 128 : q.window || paged ? 160 : 192;
    if (dim <= 96) return q.window || paged ? 128 : 144;
    if (dim <= 128) return q.causal || q.window || paged ? 128 : 176;
    if (dim <= 192) return paged || q.window ? 96 : v_dim <= 128 ? 128 : 112;
    return q.window ? 64 : 80;
  }
  if (dim <= 64) return 160;
  if (dim <= 96) return 128;
  if (dim <= 128) return paged ? 160 : 224;
  if (dim <= 192) return 160;
  return q.window ? 64 : 128;
}

FlashTile fa3_tile(const TileQuestion& q, const Gpu& gpu) {
  FlashTile tile = base_tile(q);
  const int dim = tile.qk_dim;
  tile.m = dim <= 96 ? 192 : 128;
  tile.packed = packs_groups(q, tile.m);
  // One warp group suffices for few rows (use_one_mma_wg).
  const Count rows = q.q_len * (tile.packed ? q.heads.group() : 1);
  if (dim == 128 && rows <= 64) tile.m = 64;
  tile.stages = 2;
  // TMA cannot walk pages smaller than a block.
  tile.n = fa3_keys(q, dim, tile.v_dim, false);
  if (q.page_size > 0 && q.page_size % tile.n != 0) tile.n = fa3_keys(q, dim, tile.v_dim, true);
  if (tile.m == 64 && q.bytes.q < 2) tile.n = 96;
  tile.readers = tile.m / 64;
  // One producer warp group beside the consumers. Registers at launch: the sum of what setmaxnreg hands out
  // (flash_fwd_kernel_sm90.h: 56 + 256, 24 + 2 x 240, 32 + 3 x 160) spread over all threads.
  tile.cta = {128 * (tile.readers + 1), tile.readers == 1 ? 156 : tile.readers == 2 ? 168 : 128, bytes(0)};
  tile.known = q.heads.qk_dim <= 256 && q.bytes.q <= 2 && !q.variable;
  fit_shared(tile, q.bytes.q, q.bytes.kv, gpu);
  return tile;
}

// Two query tiles of 128 rows share the keys of a CTA (flash_attn/cute/flash_fwd_sm100.py; TRT-LLM-gen's context
// kernels are built alike). Few rows become the narrow side of the product instead: tiles of 8 to 128 rows.
FlashTile blackwell_tile(const TileQuestion& q, const Gpu& gpu) {
  FlashTile tile = base_tile(q);
  tile.packed = q.heads.group() > 1 && !q.cta_for_head;
  const Count rows = q.q_len * (tile.packed ? q.heads.group() : 1);
  const bool large = std::max(tile.qk_dim, tile.v_dim) > 192;
  tile.m = rows > 128 && !large
               ? 256
               : static_cast<int>(std::clamp<Count>(static_cast<Count>(std::bit_ceil(static_cast<std::uint64_t>(rows))),
                                                    q.cta_for_head ? 128 : 8, 128));
  tile.n = 128;
  tile.stages = 2;
  if (shared_bytes(tile, q.bytes.q, q.bytes.kv) > in_bytes(gpu.shared_memory.per_cta)) tile.stages = 1;
  tile.readers = tile.m > 128 ? 2 : 1;
  tile.cta = {512, 128, bytes(0)};  // two softmax, one correction warp group, load, MMA and store warps
  tile.known = false;
  fit_shared(tile, q.bytes.q, q.bytes.kv, gpu);
  return tile;
}

// cuDNN on Hopper, by the names and grids of its kernels (cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma ...
// 64x128, 384 threads, as many CTAs as SMs): two warp groups of 64 rows each, one that loads.
FlashTile cudnn_tile(const TileQuestion& q, const Gpu& gpu) {
  FlashTile tile = base_tile(q);
  tile.m = 128, tile.n = 128;
  tile.stages = 1;
  tile.readers = 2;
  tile.cta = {384, 168, bytes(0)};
  tile.known = false;
  fit_shared(tile, q.bytes.q, q.bytes.kv, gpu);
  return tile;
}

// xFormers' CUTLASS kernels (fmha_cutlassF_bf16_aligned_64x64_rf, ..._64x128_rf): 64 rows; four warps or eight. In fp32
// heads of more than 128 elements have 32 rows (..._32x128_gmem): scores stay in shared memory, and operands pass
// through it 32 columns at a time, two such pieces at once, so that wide heads fit too.
FlashTile efficient_tile(const TileQuestion& q, const Gpu& gpu) {
  FlashTile tile = base_tile(q);
  const int dim = std::max(tile.qk_dim, tile.v_dim);
  const bool narrow = dim <= 64, wide = dim > 128 && q.bytes.q > 2;
  set_warps(tile, wide ? 32 : 64, narrow ? 64 : 128, narrow ? 4 : 8);
  tile.cta.registers = 168;
  tile.known = false;
  if (q.bytes.q > 2) {
    const double pieces = 2.0 * 32 * (tile.m + tile.n) * q.bytes.q, scores = 4.0 * tile.m * tile.n;
    tile.cta.shared_memory = std::min(bytes(pieces + scores), gpu.shared_memory.per_cta);
  } else {
    fit_shared(tile, q.bytes.q, q.bytes.kv, gpu);
  }
  return tile;
}

// Composable Kernel (example/ck_tile/01_fmha/codegen/ops/fmha_fwd.py, gfx9 at 16 bits): 128 rows by 64 or 128 keys, a
// wave of 64 lanes for every 32 rows, products of 32 x 32; queries stay in registers, keys and values pass through the
// LDS 32 columns at a time, three such pieces at once (block_fmha_pipeline_qr_ks_vs_async.hpp), and a CU holds as many
// CTAs as that file asks for. AITER's assembly is assumed to have twice the rows and waves.
FlashTile amd_tile(const TileQuestion& q, const Gpu& gpu) {
  FlashTile tile = base_tile(q);
  const int dim = std::max(tile.qk_dim, tile.v_dim), waves = dim <= 32 ? 2 : 4;
  const int ctas = dim <= 32 ? 2 : dim <= 64 ? 3 : dim <= 192 ? 2 : 1;
  const int twice = q.algorithm == AttentionAlgorithm::aiter ? 2 : 1;
  tile.m = 128 * twice, tile.n = dim <= 64 ? 64 : 128;
  tile.readers = waves * twice;
  const double piece = 32.0 * std::max(tile.n, dim) * q.bytes.kv;
  const int threads = 64 * waves * twice;
  const Count registers = std::min<Count>(512, gpu.registers_per_sm / (Count{threads} * ctas));
  tile.cta = {threads, static_cast<int>(registers), bytes(std::min(3 * piece, in_bytes(gpu.shared_memory.per_cta)))};
  tile.known = q.algorithm == AttentionAlgorithm::ck && dim <= 256 && q.bytes.q == 2 && q.bytes.kv == 2;
  return tile;
}

// Fewest splits within 85 % of the best wave efficiency.
template <class Eligible>
int best_splits(Count tiles, Count slots, int most, const Eligible& eligible) {
  const auto efficiency = [&](int splits) {
    const double waves = static_cast<double>(tiles * splits) / static_cast<double>(slots);
    return waves / std::ceil(waves);
  };
  double best = 0;
  for (int s = 1; s <= most; ++s)
    if (eligible(s)) best = std::max(best, efficiency(s));
  for (int s = 1; s <= most; ++s)
    if (eligible(s) && efficiency(s) >= kSplitEfficiency * best) return s;
  return 1;
}

constexpr Count kMostSplits = 128;
int most_splits(Count slots, Count blocks) { return static_cast<int>(std::min({kMostSplits, slots, blocks})); }

}  // namespace

int compiled_dim(Count dim, AttentionAlgorithm algorithm) {
  // cuDNN and xFormers have no kernels for 32 and 96. On data-centre Blackwell heads of 72 and 80 take as long as 128's
  // would, by FlashAttention 4's encoder rows on B200 and GB200: rows of shared memory and TMEM come by 64 elements.
  const bool few = algorithm != AttentionAlgorithm::fa2 && algorithm != AttentionAlgorithm::fa3 &&
                   algorithm != AttentionAlgorithm::ck;
  for (int compiled : {32, 64, 96, 128, 192, 256})
    if (dim <= compiled && !(few && (compiled == 32 || compiled == 96))) return compiled;
  return static_cast<int>(round_up(dim, 64));
}

void fit_shared(FlashTile& tile, double q_element, double kv_element, const Gpu& gpu) {
  const double room = in_bytes(gpu.shared_memory.per_cta);
  while (shared_bytes(tile, q_element, kv_element) > room && (tile.n >= 32 || tile.m >= 32)) {
    (tile.n >= 32 ? tile.n : tile.m) /= 2;
    tile.known = false;
  }
  tile.cta.shared_memory = bytes(std::min(room, shared_bytes(tile, q_element, kv_element)));
}

FlashTile forward_tile(const TileQuestion& question, const Gpu& gpu) {
  switch (question.algorithm) {
    case AttentionAlgorithm::fa3: return fa3_tile(question, gpu);
    case AttentionAlgorithm::blackwell: return blackwell_tile(question, gpu);
    case AttentionAlgorithm::cudnn: return cudnn_tile(question, gpu);
    case AttentionAlgorithm::efficient: return efficient_tile(question, gpu);
    case AttentionAlgorithm::ck:
    case AttentionAlgorithm::aiter: return amd_tile(question, gpu);
    case AttentionAlgorithm::fa2:
    case AttentionAlgorithm::automatic: break;
  }
  return fa2_tile(question, gpu);
}

FlashTile fa2_split_tile(const TileQuestion& q, const Gpu& gpu) {
  FlashTile tile = base_tile(q);
  const int dim = std::max(tile.qk_dim, tile.v_dim);
  // run_mha_fwd_splitkv_dispatch.
  set_warps(tile, 64, dim <= 64 ? 256 : dim <= 128 ? 128 : 64, 4);
  tile.packed = fa2_packs(q);
  tile.known = dim <= 256 && q.bytes.q == 2 && q.bytes.kv == 2 && gpu.vendor == Vendor::nvidia &&
               gpu.architecture >= Architecture::ampere;
  fit_shared(tile, q.bytes.q, q.bytes.kv, gpu);
  return tile;
}

// hopper/tile_size.h, tile_size_fwd_sm8x at 16 bits, keys not split. Engines pass lengths of their own for every
// request, and such calls always pack (hopper/heuristics.h, should_pack_gqa).
FlashTile fa3_mma_tile(const TileQuestion& q, const Gpu& gpu) {
  FlashTile tile = base_tile(q);
  const int dim = std::max(tile.qk_dim, tile.v_dim);
  const bool small = small_shared_ampere(gpu);
  int keys = q.window ? 64 : small ? 64 : 96;
  if (dim <= 64) keys = q.window ? 96 : 112;
  else if (dim <= 96) keys = q.window ? 48 : 64;
  else if (dim <= 128) keys = small ? (q.window ? 96 : 128) : q.window ? 48 : 64;
  else if (dim <= 192) keys = q.window ? 64 : 96;
  set_warps(tile, 128, keys, dim <= 96 || (dim <= 128 && !small) ? 4 : 8);
  tile.packed = q.heads.group() > 1;
  tile.known = false;
  fit_shared(tile, q.bytes.q, q.bytes.kv, gpu);
  return tile;
}

FlashTile flashinfer_tile(const TileQuestion& q, const Gpu& gpu) {
  FlashTile tile = base_tile(q);
  const int dim = std::max(tile.qk_dim, tile.v_dim);
  tile.packed = q.heads.group() > 1;
  // include/flashinfer/utils.cuh, FA2DetermineCtaTileQ; attention/prefill.cuh gives every tile four warps.
  const Count rows = q.q_len * q.heads.group();
  set_warps(tile, rows > 64 && dim < 256 ? 128 : rows > 16 ? 64 : 16, dim <= 64 ? 128 : 64, 4);
  if (tile.m == 16) tile.readers = 1;  // its warps share out the keys instead
  tile.known = false;                  // key blocks are what registers and shared memory leave room for
  fit_shared(tile, q.bytes.q, q.bytes.kv, gpu);
  return tile;
}

// attention/scheduler.cuh, PrefillBinarySearchKVChunkSize: two CTAs per SM, no chunk below 128 keys.
int flashinfer_splits(Count tiles, Count keys, const Gpu& gpu) {
  const Count room = 2 * Count{gpu.sms} / std::max<Count>(1, tiles);
  return static_cast<int>(std::clamp<Count>(std::min(room, ceil_div(keys, 128)), 1, kMostSplits));
}

// csrc/flash_attn/flash_api.cpp, num_splits_heuristic, called with twice the SMs.
int fa2_splits(Count tiles, Count blocks, const Gpu& gpu) {
  const Count slots = 2 * gpu.sms;
  if (static_cast<double>(tiles) >= kEnoughTiles * static_cast<double>(slots)) return 1;
  return best_splits(tiles, slots, most_splits(slots, blocks),
                     [&](int s) { return s == 1 || ceil_div(blocks, s) != ceil_div(blocks, s - 1); });
}

// hopper/heuristics.h, num_splits_heuristic. (Its other case, keys of one head beyond 50 MB under a full mask, is left
// out.)
int fa3_splits(Count tiles, Count blocks, const Gpu& gpu) {
  if (static_cast<double>(tiles) >= kEnoughTiles * gpu.sms || blocks <= 4) return 1;
  return best_splits(tiles, gpu.sms, most_splits(gpu.sms, blocks), [](int) { return true; });
}

// TRT-LLM-gen's multi-CTA mode: as many CTAs per sequence as keep one wave, at least two blocks each.
int blackwell_splits(Count tiles, Count blocks, const Gpu& gpu) {
  return static_cast<int>(
      std::clamp<Count>(std::min<Count>(gpu.sms / std::max<Count>(1, tiles), blocks / 2), 1, kMostSplits));
}

Demand tile_demand(const FlashTile& tile, const TileWork& work, const AttentionHeads& heads, Count kv_dim,
                   const AttentionBytes& element, const MathPath& math) {
  const double blocks = static_cast<double>(work.blocks), rows = static_cast<double>(work.rows);
  const double m = tile.m, dims = tile.qk_dim + tile.v_dim;
  const double computed = tile.rows_computed(), scores = computed * tile.n * blocks;
  const bool polynomial = tile.algorithm == AttentionAlgorithm::blackwell;
  const double by_polynomial = polynomial ? kPolynomialShare : 0.0;
  Demand d;
  (math.pipe == Pipe::tensor && !tile.vector ? d.tensor : d.vector) = ops(2 * scores * dims);
  d.xu = ops(scores * (1 - by_polynomial));
  // Results are rescaled at every step and normalised at the end; FlashAttention 4 mostly skips the former.
  const double rescale = computed * tile.v_dim * (polynomial ? 1 : blocks + 1);
  d.vector += ops(2 * (scores * (kForwardScoreSlots + by_polynomial * kPolynomialSlots) + rescale));
  const double block_bytes = tile.n * std::min(dims, static_cast<double>(kv_dim)) * element.kv;
  d.shared = bytes(blocks * (block_bytes + tile.readers * tile.n * dims * element.kv + m * tile.qk_dim * element.q) +
                   m * tile.qk_dim * element.q + 2 * m * tile.v_dim * element.q);
  d.l2_load = bytes(rows * static_cast<double>(heads.qk_dim) * element.q +
                    work.keys * static_cast<double>(kv_dim) * element.kv);
  d.l2_store = bytes(rows * static_cast<double>(heads.v_dim) * element.out);
  return d;
}

}  // namespace tilecast
