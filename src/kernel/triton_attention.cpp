#include "kernel/triton_attention.h"

#include <algorithm>
#include <bit>

#include "constants/attention.h"

namespace tilecast {

using namespace constants;

namespace {

constexpr int kWarpRows = 16;            // of an mma.sync instruction
constexpr int kFourWarps = 4;            // one for each tensor pipe of an SM
constexpr int kAlignedElements = 16;     // Triton's specialisation of integer arguments
constexpr double kAddressRegisters = 2;  // 64 bits
constexpr double kMostRegisters = 255;

struct Block {
  int rows, keys;
};

int power_of_two(Count dim) {
  return static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::max<Count>(16, dim))));
}

bool beyond_mma_sync(const Gpu& gpu) {
  return gpu.tensor_generation() == TensorGeneration::wgmma || gpu.tensor_generation() == TensorGeneration::tcgen05;
}

// Shared memory of about 100 KiB per SM: compute capabilities 8.6, 8.9 and 12.
bool small_shared(const Gpu& gpu) { return in_bytes(gpu.shared_memory.per_cta) < 128 * 1024; }

// extend_attention.py, _get_block_sizes_for_extend_attention.
Block served_block(Count dim, const Gpu& gpu) {
  const bool small = small_shared(gpu);
  if (beyond_mma_sync(gpu)) return dim <= 256 ? Block{128, 64} : Block{32, 64};
  if (dim <= 128) return small ? Block{64, 128} : Block{128, 128};
  if (dim <= 256) return {64, 64};
  return {32, small ? 32 : 64};
}

// prefill_attention.py, context_attention_fwd: 128 by 128 beyond compute capability 8.
Block encoder_block(const Gpu& gpu) {
  const int side = gpu.architecture == Architecture::blackwell || beyond_mma_sync(gpu) ? 128 : 64;
  return {side, side};
}

// extend_attention.py: heads of 192 (and MLA's) are multiplied in two parts, others padded.
int query_dim(Count dim, bool served) {
  return served && (dim == 192 || dim == 288 || dim == 576) ? static_cast<int>(dim) : power_of_two(dim);
}

// Results and scores in fp32, queries in their own type, and the rest.
double held_registers(const FlashTile& tile) {
  return tile.rows_computed() * (tile.v_dim + tile.n + tile.qk_dim / 2.0) / tile.cta.threads + kTritonOtherRegisters;
}

int resident(const CtaShape& cta, const Gpu& gpu) {
  const Count by_registers = gpu.registers_per_sm / std::max<Count>(1, Count{cta.threads} * cta.registers);
  const double by_shared = gpu.shared_memory.per_sm / std::max(cta.shared_memory, bytes(1));
  return static_cast<int>(std::clamp<double>(std::min(static_cast<double>(by_registers), by_shared), 1, 16));
}

}  // namespace

bool is_triton_attention(const Context& context, const Gpu& gpu) {
  return context.kernel_source == KernelSource::triton && gpu.vendor == Vendor::nvidia &&
         gpu.tensor_generation() != TensorGeneration::none;
}

bool is_unified_attention(const Context& context, const Gpu& gpu) {
  return context.engine == Launcher::vllm && context.kernel_source.says(KernelSource::Word::triton) &&
         gpu.vendor == Vendor::nvidia && gpu.tensor_generation() != TensorGeneration::none;
}

FlashTile triton_tile(const TileQuestion& q, bool served, const Gpu& gpu) {
  FlashTile tile;
  tile.algorithm = AttentionAlgorithm::fa2;  // a CTA a tile, in waves
  tile.qk_dim = query_dim(q.heads.qk_dim, served), tile.v_dim = power_of_two(q.heads.v_dim);
  const Block block = served ? served_block(q.heads.qk_dim, gpu) : encoder_block(gpu);
  const int warps = q.heads.qk_dim <= 64 ? 4 : 8;
  tile.m = block.rows, tile.n = block.keys;
  tile.readers = warps;
  // Warps lie along the rows; if a block has fewer rows than they span, they repeat one another's work. On Hopper and
  // data-centre Blackwell they do not: prompts of SGLang with heads of 512, four times as fast as they would be.
  if (!beyond_mma_sync(gpu)) tile.computed_rows = std::max(tile.m, kWarpRows * warps);
  tile.cta = {32 * warps, static_cast<int>(kMostRegisters), bytes(0)};
  fit_shared(tile, q.bytes.q, q.bytes.kv, gpu);
  tile.cta.registers = static_cast<int>(std::clamp(held_registers(tile), 64.0, kMostRegisters));
  tile.known = false;
  return tile;
}

FlashTile unified_tile(const TileQuestion& q, const Gpu& gpu) {
  constexpr int kRows = 16, kKeys = 32;  // BLOCK_M, TILE_SIZE of prompts
  FlashTile tile;
  tile.algorithm = AttentionAlgorithm::fa2;  // a CTA a tile, in waves
  tile.qk_dim = power_of_two(q.heads.qk_dim), tile.v_dim = power_of_two(q.heads.v_dim);
  const int group = static_cast<int>(q.heads.group());
  tile.computed_rows = std::max(kRows, power_of_two(group));
  tile.m = tile.computed_rows / group * group;  // whole queries
  tile.n = kKeys;
  tile.packed = group > 1;
  tile.readers = 1;  // its warps share out the keys
  tile.cta = {32 * kFourWarps, 128, bytes(0)};
  fit_shared(tile, q.bytes.q, q.bytes.kv, gpu);
  tile.known = false;
  tile.serial = true;
  tile.task_clocks = kUnifiedTaskClocks;
  tile.block_clocks = kUnifiedStepClocks * (tile.qk_dim + tile.v_dim) * tile.computed_rows / (kUnifiedDims * kRows);
  return tile;
}

double triton_warp_share(const FlashTile& tile, const Gpu& gpu) {
  return tile.readers > kFourWarps ? gpu.tuned(kTritonEightWarps) : 1.0;
}

Count triton_passed_blocks(Count before_window) {
  return static_cast<Count>(static_cast<double>(before_window) * kTritonPassedBlock);
}

double triton_element_clocks(const FlashTile& tile, const AttentionHeads& heads, const Gpu& gpu) {
  if (heads.qk_dim % kAlignedElements == 0 && heads.v_dim % kAlignedElements == 0) return 0;
  const double addresses = kAddressRegisters * tile.n * (tile.qk_dim + tile.v_dim) / tile.cta.threads;
  return gpu.tuned(kTritonSpill) * std::max(0.0, held_registers(tile) + addresses - kMostRegisters);
}

double triton_key_passes(const FlashTile& tile, double pairs, double row_tiles, bool causal, const Gpu& gpu) {
  const double slots = static_cast<double>(gpu.sms) * resident(tile.cta, gpu);
  const double rounds = row_tiles * std::min(1.0, pairs / slots);
  return std::max(1.0, causal ? rounds / 2 : rounds);
}

}  // namespace tilecast
