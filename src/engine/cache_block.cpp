// Sources:
// - vLLM 0.14.0: vllm/platforms/cuda.py, check_and_update_config.
// - SGLang 0.5.6: python/sglang/srt/server_args.py, _handle_model_specific_adjustments and
//   _handle_attention_backend_compatibility; docs/advanced_features/attention_backend.md. Which release made TensorRT-
//   LLM's kernels the default of plain attention on Blackwell, where FlashInfer's stood before, is not said;
//   FlashInfer's take their blocks as well.
// - TensorRT-LLM 1.2.0: tensorrt_llm/_torch/pyexecutor/py_executor_creator.py (enable_flash_mla).
#include "engine/cache_block.h"

#include <algorithm>
#include <vector>

#include "engine/serving_memory.h"

namespace tilecast {
namespace {

// What layers have.
struct Mixers {
  const MlaSpec* latent = nullptr;
  bool plain = false, states = false;
};
Mixers mixers_of(const ModelSpec& model) {
  Mixers found;
  if (!model.decoder) return found;
  for (const LayerRun& run : model.decoder->layers) {
    if (const auto* latent = std::get_if<MlaSpec>(&run.layer.mixer)) found.latent = latent;
    found.plain = found.plain || std::holds_alternative<AttentionSpec>(run.layer.mixer);
    found.states = found.states || std::holds_alternative<ScanSpec>(run.layer.mixer);
  }
  return found;
}

// The sizes a kernel takes: these, and multiples of one; by default any.
struct Asks {
  std::string_view kernel;
  std::vector<Count> sizes;
  Count multiple = 0;   // 0: none but `sizes`
  Count otherwise = 0;  // in the place of others; 0: it takes any
  bool takes(Count tokens) const {
    return otherwise == 0 || (multiple > 0 && tokens % multiple == 0) ||
           std::find(sizes.begin(), sizes.end(), tokens) != sizes.end();
  }
};

Asks vllm_asks(const Gpu& gpu, const MlaSpec& latent, bool shared_keys) {
  const TensorGeneration generation = gpu.tensor_generation();
  if (gpu.vendor != Vendor::nvidia) return {};
  if (latent.index_topk > 0) return {"FlashMLA's sparse kernel", {64}, 0, 64};
  if (generation == TensorGeneration::tcgen05) {
    constexpr Count kFlashInferHead = 128;
    if (latent.nope_dim == kFlashInferHead && !shared_keys) return {"FlashInfer MLA", {32}, 64, 64};
    return {"CUTLASS MLA", {}, 128, 128};
  }
  if (generation == TensorGeneration::wgmma) return {"FlashMLA", {}, 64, 64};
  return {};
}

Asks sglang_asks(const Gpu& gpu, const ModelSpec& model, const Mixers& mixers) {
  if (gpu.vendor != Vendor::nvidia) return {};
  const bool blackwell = gpu.tensor_generation() == TensorGeneration::tcgen05;
  if (mixers.latent && mixers.latent->index_topk > 0) return {"DeepSeek's sparse attention", {64}, 0, 64};
  if (mixers.latent) {
    const bool own = model.architecture.starts_with("DeepseekV3") || model.architecture.starts_with("KimiK25");
    return blackwell && own ? Asks{"TensorRT-LLM's MLA", {32, 64}, 0, 64} : Asks{};
  }
  // A radix cache of states has pages of one token.
  if (!blackwell || !mixers.plain || mixers.states) return {};
  return {"TensorRT-LLM's attention", {16, 32, 64}, 0, 64};
}

Asks trtllm_asks(const Gpu& gpu, const MlaSpec& latent) {
  constexpr Count kFlashMlaHead = 576;
  const bool hopper = gpu.tensor_generation() == TensorGeneration::wgmma;
  return hopper && latent.kv_rank + latent.rope_dim == kFlashMlaHead ? Asks{"FlashMLA", {64}, 0, 64} : Asks{};
}

}  // namespace

CacheBlock cache_block(EngineKind engine, const Gpu& gpu, const ModelSpec& model, Count asked, bool shared_keys) {
  const Count tokens = asked > 0 ? asked : default_block_tokens(engine);
  const Mixers mixers = mixers_of(model);
  Asks asks;
  if (engine == EngineKind::sglang) asks = sglang_asks(gpu, model, mixers);
  else if (mixers.latent && engine == EngineKind::vllm) asks = vllm_asks(gpu, *mixers.latent, shared_keys);
  else if (mixers.latent && engine == EngineKind::trtllm) asks = trtllm_asks(gpu, *mixers.latent);
  if (asks.takes(tokens)) return {tokens};
  return {asks.otherwise, asks.kernel};
}

}  // namespace tilecast
