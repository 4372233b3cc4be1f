#include "kernel/moe_tiles.h"

#include <algorithm>
#include <array>
#include <utility>

#include "constants/product.h"
#include "kernel/mfma_tiles.h"

namespace tilecast {

using namespace constants;

namespace {

// Shapes of one rank with a tuned configuration file, bf16: Mixtral's eight experts on A100, H100 and H200 (any width);
// experts of Qwen3, Gemma and Qwen3-Next that the repositories list for H100 or H200, taken for both. Other files of
// single cards are left out.
bool has_tuned_file(const Moe& s, const Format& format, const Gpu& gpu) {
  if (format.math != DType::bf16 || format.unpack_weights) return false;
  const bool hopper = gpu.architecture == Architecture::hopper;
  const Count experts = s.local_experts(), inter = s.local_inter();
  if (experts == 8 && s.experts == 8) return hopper || gpu.compute_capability == "8.0";
  constexpr std::array<std::pair<Count, Count>, 6> kHopper = {
      {{128, 192}, {128, 384}, {128, 704}, {128, 768}, {512, 64}, {512, 128}}};
  return hopper && std::find(kHopper.begin(), kHopper.end(), std::pair{experts, inter}) != kHopper.end();
}

// SynPerf's sweep of SGLang 0.5.4 (lab/import/import_synperf.cpp). The paper does not print the configurations it ran
// with. Rows of a block are read off the steps of its times over tokens, where arithmetic shows them (H20: 16 up to 128
// tokens, 32 up to 256, 64 up to 512, then 128; L20, H800 and RTX 6000 Ada step at every 128 rows too, A100 at every
// 64); the other sides are the ones the engine's defaults have beside them.
bool is_sweep(const Context& context) { return context.kernel_source == KernelSource::fused_moe_kernel_default; }
TritonBlock block_of_sweep(const Moe& s, const Gpu& gpu) {
  if (s.tokens <= 128) return {16, 32, 64, 4, 3};
  if (s.tokens <= 256) return {32, 64, 64, 4, 3};
  if (s.tokens <= 512) return {64, 64, 64, 4, 3};
  if (gpu.compute_capability == "8.0") return {64, 128, 64, 4, 3};
  return {128, 128, 64, 8, 3};
}

// "vllm_fused_moe" is vLLM 0.14, the engine of the A100 rows; later ones name their experts class.
bool chooses_by_experts(const Context& context) {
  return context.engine == Launcher::sglang || context.kernel_source == KernelSource::vllm_fused_moe;
}

}  // namespace

TritonBlock block_by_experts(const Moe& s, const Format& format, DType input) {
  const bool few = s.tokens <= s.local_experts();
  if (format.id == FormatId::fp8_block) return {64, 128, 128, 4, 3};
  if (bits_of(input) == 8) return few ? TritonBlock{64, 128, 128, 4, 4} : TritonBlock{128, 256, 128, 8, 4};
  return few ? TritonBlock{16, 32, 64} : TritonBlock{64, 64, 32};
}

TritonBlock block_by_tokens(const Moe& s, const Format& format, DType input) {
  if (format.id == FormatId::fp8_block) return {s.tokens <= 64 ? 16 : 64, 128, 128, 4, 3};
  const bool eight_bit = bits_of(input) == 8;
  TritonBlock block{128, s.tokens <= 64 ? 64 : 128, eight_bit || s.tokens <= 64 ? 128 : 64, s.tokens <= 128 ? 4 : 8,
                    s.tokens <= 32 ? 4 : 3};
  if (s.tokens <= 32) block.m = 16;
  else if (s.tokens <= 96) block.m = 32;
  else if (s.tokens <= 512) block.m = 64;
  return block;
}

GemmChoice triton_moe_choice(const Moe& shape, const GroupedProblem& problem, const Format& format,
                             const MathPath& math, const Gpu& gpu, const Context& context) {
  if (!is_sweep(context) && chooses_by_experts(context) && has_tuned_file(shape, format, gpu))
    return choose_grouped(problem, math, gpu);
  const TritonBlock block = is_sweep(context)             ? block_of_sweep(shape, gpu)
                            : chooses_by_experts(context) ? block_by_experts(shape, format, math.input)
                                                          : block_by_tokens(shape, format, math.input);
  GemmChoice choice;
  // Accumulators plus about 64 registers of addresses and fragments.
  const int registers = std::min(255, 64 + block.m * block.n / (32 * block.warps));
  choice.tile = {block.m, block.n, 32 * block.warps, registers, 1, std::min(block.m, 64), std::min(block.n, 64)};
  choice.tile_k = block.k;
  choice.stages = block.stages;
  // L2 of these merges the requests of neighbours while they keep step (kernel/gemm_tile.cpp, coalesced_requests).
  if (gpu.architecture == Architecture::hopper || gpu.architecture == Architecture::blackwell)
    choice.coalesced = kCoalescedSms;
  choice.concurrent = gpu.sms;
  return choice;
}

GemmChoice grouped_moe_choice(const GroupedProblem& problem, const Format& format, const MathPath& math, const Gpu& gpu,
                              const Context& context) {
  if (takes_mfma(math, gpu)) return choose_grouped_mfma(problem, format, math, gpu, context);
  GemmChoice choice = choose_grouped(problem, math, gpu);
  // vLLM and SGLang call FlashInfer's CUTLASS experts without tuning, and on Hopper the first configuration of the list
  // is 128 x 16 (cutlass_heuristic.cpp, get_candidate_configs_sm90): rows four times slower than TensorRT-LLM's, which
  // tunes the same kernels, and equally so on H100 and H200. Block scales go another way.
  const bool untuned = context.kernel_source.says(KernelSource::Word::flashinfer_cutlass) &&
                       format.id != FormatId::fp8_block && gpu.tensor_generation() == TensorGeneration::wgmma;
  if (untuned)
    choice.tile = {.m = 128, .n = 16, .threads = 384, .registers = 168, .ctas_per_sm = 1, .reuse_m = 64, .reuse_n = 16};
  return choice;
}

PieceCost piece_cost(const GemmChoice& choice, const Format& format, const Gpu& gpu) {
  // Read off rows of SGLang and vLLM 0.14 on both sides of the change from 128-byte to 64-byte pieces. DRAM: the same
  // weights take 1.5 times as long on A100 and H200 (1.35 H100, 1.5 L40S), 1.1 times on GB200, at any size beyond L2.
  // L2, at many rows per expert: 1.7 times on A100 and H200 (the same on H100 and L40S), 2.5 times on GB200 and B200,
  // whose description of L2 is an upper limit.
  if (in_bytes(format.weight_bytes(choice.tile_k)) >= kCacheLine) return {};
  const TensorGeneration generation = gpu.tensor_generation();
  if (generation == TensorGeneration::tcgen05) return {gpu.tuned(kTcgenPieceL2), gpu.tuned(kTcgenPieceDram)};
  return {gpu.tuned(kPieceL2), gpu.tuned(kPieceDram)};
}

}  // namespace tilecast
