#include "tune/triton_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "constants/streaming.h"
#include "constants/tune.h"
#include "kernel/moe_tiles.h"
#include "schedule/schedule.h"
#include "support/number.h"
#include "support/text.h"

namespace tilecast {

using namespace constants;

namespace {

constexpr int kMostRegisters = 255;
constexpr int kWarpgroupRows = 64;  // of wgmma and tcgen05; Triton falls back to mma.sync below

// Accumulators are fp32 and stay in registers; one more than the register file allows cannot run.
int accumulators(const TritonConfig& c) { return c.m * c.n / (kWarpThreads * c.warps); }

// Registers a thread. Read off 301 binaries of Triton 3.6 on H200 (data/measurements/h200_fused_moe_binaries.csv): the
// accumulators (twice with mma.sync, whose operands pass through registers), about two for each 16-byte load a thread
// issues per step, and 36. Within 18 of the compiler's for nine binaries of ten; as many CTAs fit for eight.
int registers_of(const TritonConfig& c, const Format& format, bool warpgroup) {
  const double threads = kWarpThreads * c.warps;
  const double loads = in_bytes(format.activation_bytes(c.m * c.k) + format.weight_bytes(c.n * c.k)) / 16 / threads;
  const double needed = triton::kRegisters + (warpgroup ? 1 : 2) * accumulators(c) + 2 * loads;
  return static_cast<int>(std::min<double>(kMostRegisters, std::ceil(needed / 8) * 8));
}

}  // namespace

std::string text_of(const TritonConfig& config) { return fmt::format("{}", fmt::join(config.values(), ",")); }

std::optional<TritonConfig> triton_config_from(std::string_view text) {
  const std::vector<std::string> words = split(text, ',');
  if (words.size() != kTritonConfigKeys.size()) return std::nullopt;
  std::array<int, 6> values{};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto value = number_between(words[i], 1, 4096);
    if (!value) return std::nullopt;
    values[i] = *value;
  }
  return TritonConfig{values[0], values[1], values[2], values[3], values[4], values[5]};
}

TritonFootprint footprint_of(const TritonConfig& c, const Format& format, const Gpu& gpu) {
  const TensorGeneration generation = gpu.tensor_generation();
  TritonFootprint found;
  found.warpgroup = (generation == TensorGeneration::wgmma || generation == TensorGeneration::tcgen05) &&
                    c.m >= kWarpgroupRows && c.warps % 4 == 0;
  // With mma.sync the fragments of a step are in registers before the next loads start, which saves one buffer: all 301
  // binaries have exactly these sizes.
  const int buffers = found.warpgroup ? c.stages : std::max(1, c.stages - 1);
  found.cta = {kWarpThreads * c.warps, registers_of(c, format, found.warpgroup),
               (format.activation_bytes(c.m * c.k) + format.weight_bytes(c.n * c.k)) * buffers};
  found.ctas_per_sm = occupancy(found.cta, gpu);
  return found;
}

std::string why_illegal(const TritonConfig& c, const Format& format, const Gpu& gpu) {
  for (const int side : {c.m, c.n, c.k, c.warps})
    if (side < 1 || (side & (side - 1)) != 0) return "blocks and warps must be powers of two";
  if (c.m < 16 || c.n < 16 || c.k < 16) return "a block side is under 16, the least of the tensor pipe";
  if (accumulators(c) > kMostRegisters) return fmt::format("{} accumulators a thread", accumulators(c));
  // One scale per block of weights and step: vLLM's benchmark_moe.py drops other N, and its kernel cuts longer K.
  if (format.id == FormatId::fp8_block && (c.n % 128 != 0 || c.k != 128))
    return "fp8 blocks need BLOCK_SIZE_N in steps of 128 and BLOCK_SIZE_K 128";
  const TritonFootprint found = footprint_of(c, format, gpu);
  if (found.cta.shared_memory > gpu.shared_memory.per_cta)
    return fmt::format("needs {:.0f} KiB of shared memory, {} has {:.0f}", in_bytes(found.cta.shared_memory) / 1024,
                       gpu.name, in_bytes(gpu.shared_memory.per_cta) / 1024);
  if (found.ctas_per_sm == 0) return "needs more registers or threads than an SM has";
  return {};
}

std::vector<TritonConfig> triton_configs(const Format& format, const Gpu& gpu) {
  std::vector<TritonConfig> found;
  for (const int m : {16, 32, 64, 128, 256})
    for (const int n : {32, 64, 128, 256})
      for (const int k : {64, 128, 256})
        for (const int warps : {4, 8})
          for (const int stages : {2, 3, 4, 5}) {
            TritonConfig config{m, n, k, 1, warps, stages};
            if (!why_illegal(config, format, gpu).empty()) continue;
            for (const int group : {1, 16, 32, 64}) {
              config.group = group;
              found.push_back(config);
            }
          }
  return found;
}

TritonConfig vllm_default(const Moe& shape, const Format& format, DType input) {
  const TritonBlock block = block_by_tokens(shape, format, input);
  const int group = shape.tokens / std::max<Count>(1, shape.local_experts()) > 128 ? 16 : 1;
  return {block.m, block.n, block.k, group, block.warps, block.stages};
}

TritonConfig sglang_default(const Moe& shape, const Format& format, DType input) {
  const TritonBlock block = block_by_experts(shape, format, input);
  const bool few = shape.tokens <= shape.local_experts();
  const int group = few && format.id != FormatId::fp8_block ? 1 : bits_of(input) == 8 ? 32 : 8;
  return {block.m, block.n, block.k, group, block.warps, block.stages};
}

}  // namespace tilecast
