// The engines by name.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "kernel/source.h"
#include "tilecast/result.h"
#include "tilecast/run.h"

namespace tilecast {

Result<EngineKind> engine_from(std::string_view name);

// What launches its kernels, as named in measurement tables.
Launcher measured_as(EngineKind kind);

// How a serving engine's tokens reach experts on other ranks.
enum class ExpertTransport : std::uint8_t {
  usual,      // as the engine does where it is not told: vLLM and SGLang gather, TensorRT-LLM writes over NVLink
  deepep,     // DeepEP's kernels
  one_sided,  // TensorRT-LLM's, which FlashInfer packs for others
};

// What a framework's cross-entropy does with the logits.
enum class LossForm : std::uint8_t {
  separate,  // PyTorch: cast to fp32, log-softmax kept beside them
  fused,     // flash-attn: read as they are, and once more for their gradient
  in_place,  // Megatron: cast to fp32, then overwritten by the softmax and by its gradient
  shifted,   // nanotron: the same on a copy from which the largest was subtracted
};

}  // namespace tilecast
