// The engines by name.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "support/result.h"

namespace tilecast {

enum class EngineKind : std::uint8_t {
  pytorch,    // eager: a kernel for every operator as Hugging Face's code spells it
  compile,    // torch.compile: pointwise chains and reductions fused, launched one by one
  cudagraph,  // one fused kernel an operator, replayed in a CUDA graph
  vllm,
  sglang,
  trtllm,
};
inline constexpr std::array<std::string_view, 6> kEngineNames = {"pytorch", "compile", "cudagraph",
                                                                 "vllm",    "sglang",  "trtllm"};
constexpr std::string_view name_of(EngineKind e) { return kEngineNames[static_cast<std::size_t>(e)]; }
Result<EngineKind> engine_from(std::string_view name);
constexpr bool serves(EngineKind e) {
  return e == EngineKind::vllm || e == EngineKind::sglang || e == EngineKind::trtllm;
}

// What a framework's cross-entropy makes of the logits.
enum class LossForm : std::uint8_t {
  separate,  // PyTorch: cast to fp32, log-softmax kept beside them
  fused,     // flash-attn: read as they are, and once more for their gradient
  in_place,  // Megatron: cast to fp32, then overwritten by the softmax and by its gradient
};

// Releases of one engine differ in their host program and their attention kernel more than cards do.
enum class EngineEra : std::uint8_t {
  current,    // vLLM's V1 with asynchronous scheduling, SGLang and TensorRT-LLM with overlapped ones
  year_2023,  // PyTorch 1.13 and 2.0: FlashAttention in Triton
  year_2024,  // vLLM before 0.6, TensorRT-LLM before 0.12: the scheduler waits for each step's tokens
};

}  // namespace tilecast
