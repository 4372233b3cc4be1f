#include "engine/serving_memory.h"

#include <algorithm>
#include <cmath>

#include "constants/engine.h"

namespace tilecast {

using namespace constants;

namespace {

// Of a card's memory a program sees a little less than its nominal size: 79.1 to 79.6 of 80 GiB on A100 and H100, 23.6
// of 24 on RTX 3090 and 4090, 47.4 of 48 on an RTX A6000, 178.4 of 180 on a B200 (total memory in public logs of vLLM's
// memory profile and of PyTorch). GDDR with error correction keeps a sixteenth for it: 44.4 of 48 on L40S, 22.1 of 24
// on A10G, 14.6 of 16 on T4.
double visible_share(const Gpu& gpu) {
  const bool corrected = gpu.dram.type.starts_with("GDDR") && gpu.dram.ecc;
  return corrected ? kVisible * kCorrected : kVisible;
}

// What vLLM's profile run leaves of the usable share beside weights and cache, in published start-up logs of its V1
// with Llama 3.1 8B (vocabulary 128256), kOtherGib included: 1.27 GiB on RTX A6000, 1.29 on RTX 3090, 1.34 on RTX 4090,
// where it samples for 256 sequences; 2.24 GiB on H100, where it does for 1024. Hence 10 bytes per logit, plus a part
// independent of the model: workspaces of compiled code and libraries.

// vLLM's default share is 0.9, captured graphs not counted, up to 0.20; since 0.21 it is 0.92 with an estimate of the
// graphs (0.2 to 0.8 GiB) taken off: about the same cache.

Count gib_of(const Gpu& gpu) { return static_cast<Count>(std::llround(in_gibibytes(gpu.dram.size))); }

// vLLM's API server (vllm/engine/arg_utils.py, get_batch_defaults) by memory alone; what it derives from a card's name
// is in the card's description.
Gpu::BatchLimits vllm_limits(const Gpu& gpu) {
  if (gpu.vllm_limits) return *gpu.vllm_limits;
  return gib_of(gpu) >= 70 ? Gpu::BatchLimits{1024, 8192} : Gpu::BatchLimits{256, 2048};
}

// python/sglang/srt/server_args.py, _handle_gpu_memory_settings: by the card's memory.
Count sglang_chunk(const Gpu& gpu) {
  const Count gib = gib_of(gpu);
  return gib < 35 ? 2048 : gib < 60 ? 4096 : gib < 160 ? 8192 : 16384;
}
// ... and the share that weights and cache take: all but a reserve for activations, graphs and metadata, in MiB.
double sglang_share(const Gpu& gpu, const ServingLimits& l) {
  const double all = in_mebibytes(gpu.dram.size) * visible_share(gpu);
  const Count tokens = std::max<Count>(l.chunk > 0 ? l.chunk : l.tokens, 2048);
  const auto graphs = static_cast<double>(sglang_graph_batch(gpu, l.ranks));
  double reserve = kSglangReserve + kSglangPerToken * static_cast<double>(tokens) + kSglangPerGraph * graphs +
                   kSglangParallel * static_cast<double>(l.ranks);
  if (l.attention_dp > 1) {
    const double padded = graphs * static_cast<double>(l.attention_dp);
    reserve += kSglangPerPadded * padded + (graphs > kSglangManyGraphs ? kSglangPerMany * padded : 0);
  }
  if (all > 60 * 1024) reserve = std::max<double>(reserve, kSglangLeast);
  return std::round((all - reserve) / all * 1000) / 1000;
}

}  // namespace

Bytes visible_memory(const Gpu& gpu) { return gpu.dram.size * visible_share(gpu); }

Bytes usable_memory(const Gpu& gpu, EngineKind engine) {
  const Bytes all = visible_memory(gpu);
  return serves(engine) ? all * kVllmShare : all - mebibytes(kUnservedReserve);
}

ServingLimits default_limits(EngineKind engine, const Gpu& gpu) {
  // SGLang: max_running_requests is what the cache gives, 2048 to 4096; max_prefill_tokens.
  if (engine == EngineKind::sglang) return {2048, 16384, sglang_chunk(gpu)};
  if (engine == EngineKind::trtllm) return {2048, 8192, 0};  // tensorrt_llm/llmapi/llm_args.py
  const Gpu::BatchLimits limits = vllm_limits(gpu);
  return {limits.sequences, limits.tokens, 0};
}

Count sglang_graph_batch(const Gpu& gpu, Count ranks) {
  const Count gib = gib_of(gpu);
  const bool few = ranks < 4;
  return gib < 20 ? 8 : gib < 35 ? (few ? 24 : 80) : gib < 60 ? (few ? 32 : 160) : gib < 160 && few ? 256 : 512;
}

Count profile_tokens(EngineKind engine, const ServingLimits& limits) {
  return engine == EngineKind::sglang && limits.chunk > 0 ? limits.chunk : limits.tokens;
}

Count default_block_tokens(EngineKind engine) {
  // vLLM's block_size on CUDA, SGLang's page_size, TensorRT-LLM's tokens_per_block.
  return engine == EngineKind::sglang ? 1 : engine == EngineKind::trtllm ? 32 : 16;
}

CacheBudget cache_budget(EngineKind engine, const Gpu& gpu, const ServingLimits& limits, const MemoryNeed& profile,
                         Count vocabulary, double fraction) {
  CacheBudget b;
  b.visible = visible_memory(gpu);
  b.weights = profile.weights;
  b.activations = profile.activations + profile.workspace;
  b.other = gibibytes(kOtherGib);
  const auto share = [&](double otherwise) { return fraction > 0 ? fraction : otherwise; };
  if (engine == EngineKind::sglang) {
    // KV pool = share x free memory - weights; activations and graphs live in the rest.
    b.usable = (b.visible - b.other) * share(sglang_share(gpu, limits));
    b.cache = b.usable - b.weights;
  } else if (engine == EngineKind::trtllm) {
    // free_gpu_memory_fraction of what the loaded model and its dry run leave. What a model lacks it lacks whole.
    const Bytes left = b.visible - b.weights - b.activations - b.other;
    b.cache = left > bytes(0) ? left * share(kTrtllmShare) : left;
    b.usable = std::max(b.cache, bytes(0));
  } else {
    // vllm/v1/worker/gpu_worker.py, determine_available_memory.
    const double rows = static_cast<double>(std::min(limits.sequences, limits.tokens));
    b.activations =
        std::max(b.activations, bytes(kSamplerBytes * rows * static_cast<double>(vocabulary))) + gibibytes(kProfileGib);
    b.usable = b.visible * share(kVllmShare);
    b.cache = b.usable - b.weights - b.activations - b.other;
  }
  return b;
}

BudgetedNeed beside_budget(const MemoryNeed& step, const CacheBudget& budget) {
  BudgetedNeed both;
  both.need.weights = budget.weights;
  both.need.activations = budget.activations;
  both.need.workspace = budget.other;
  both.usable = both.need.total() + budget.cache;
  both.need.cache = step.cache;
  return both;
}

Count tokens_in(Bytes room, const CacheNeed& need, const Precision& precision, Count block_tokens) {
  const bool plain =
      need.state == 0 && !need.parts.empty() &&
      std::all_of(need.parts.begin(), need.parts.end(), [](const CachePart& p) { return p.window == 0; });
  const Bytes block = cache_bytes(need, block_tokens, precision);
  if (!plain || room <= bytes(0) || block <= bytes(0)) return 0;
  return static_cast<Count>(room / block) * block_tokens;
}

}  // namespace tilecast
