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

// Shared memory of about 100 KiB per SM: compute capabilities 8.6, 8.9 and 12.
bool small_shared(const Gpu& gpu) { return in_bytes(gpu.shared_memory.per_cta) < 128 * 1024; }

// extend_attention.py, _get_block_sizes_for_extend_attention, before Hopper and on workstation Blackwell.
Block served_block(Count dim, const Gpu& gpu) {
  const bool small = small_shared(gpu);
  if (dim <= 128) return small ? Block{64, 128} : Block{128, 128};
  if (dim <= 256) return {64, 64};
  return {32, small ? 32 : 64};
}

// prefill_attention.py, context_attention_fwd: 128 by 128 beyond compute capability 8.
Block encoder_block(const Gpu& gpu) {
  const int side = gpu.architecture == Architecture::blackwell ? 128 : 64;
  return {side, side};
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
         gpu.tensor_generation() == TensorGeneration::mma;
}

FlashTile triton_tile(const TileQuestion& q, bool served, const Gpu& gpu) {
  FlashTile tile;
  tile.algorithm = AttentionAlgorithm::fa2;  // a CTA a tile, in waves
  tile.qk_dim = power_of_two(q.heads.qk_dim), tile.v_dim = power_of_two(q.heads.v_dim);
  const Block block = served ? served_block(q.heads.qk_dim, gpu) : encoder_block(gpu);
  const int warps = q.heads.qk_dim <= 64 ? 4 : 8;
  tile.m = block.rows, tile.n = block.keys;
  tile.readers = warps;
  // Warps lie along the rows; if a block has fewer rows than they span, they repeat one another's work.
  tile.computed_rows = std::max(tile.m, kWarpRows * warps);
  tile.cta = {32 * warps, static_cast<int>(kMostRegisters), bytes(0)};
  fit_shared(tile, q.bytes.q, q.bytes.kv, gpu);
  tile.cta.registers = static_cast<int>(std::clamp(held_registers(tile), 64.0, kMostRegisters));
  tile.known = false;
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
