#include "engine/attention_kernel.h"

#include <algorithm>

#include "constants/engine.h"

namespace tilecast {

using namespace constants;

namespace {

bool is_attention(const Shape& shape) {
  return std::holds_alternative<AttentionPrefill>(shape) || std::holds_alternative<AttentionDecode>(shape) ||
         std::holds_alternative<AttentionBackward>(shape);
}

Count longest(const std::vector<Count>& lengths, Count same) {
  return lengths.empty() ? same : *std::max_element(lengths.begin(), lengths.end());
}
void drop_idle_window(AttentionDecode& a) {
  if (longest(a.lens, a.kv_len) <= a.window) a.window = 0;
}
void drop_idle_window(AttentionPrefill& a) {
  const Count queries = longest(a.lens, a.q_len);
  if (longest(a.kv_lens, a.kv_len > 0 ? a.kv_len : queries) <= a.window) a.window = 0;
}

// PyTorch's scaled_dot_product_attention is FlashAttention 2 whatever the card; so was vLLM's before it had
// FlashAttention 3.
bool flash_2(EngineKind kind, EngineEra era) {
  return !serves(kind) || (kind == EngineKind::vllm && era == EngineEra::year_2024);
}

}  // namespace

Shape attention_as(Shape shape, EngineKind kind, EngineEra era, bool newest) {
  // TensorRT-LLM compares the window with the lengths before it picks a kernel. vLLM hands it to FlashAttention, which
  // loses its packing of query heads by it; in 2024 its block tables cut the cache and the kernel knew of no window.
  const bool idle_window_is_none =
      kind == EngineKind::trtllm || (kind == EngineKind::vllm && era == EngineEra::year_2024);
  if (auto* a = std::get_if<AttentionDecode>(&shape)) {
    if (idle_window_is_none) drop_idle_window(*a);
    // PyTorch's own decode rows were measured, and learned, under the card's usual algorithm.
    if (serves(kind) && flash_2(kind, era)) a->algorithm = AttentionAlgorithm::fa2;
  }
  if (auto* a = std::get_if<AttentionPrefill>(&shape)) {
    if (idle_window_is_none) drop_idle_window(*a);
    if (flash_2(kind, era) && !newest) a->algorithm = AttentionAlgorithm::fa2;
  }
  if (auto* a = std::get_if<AttentionBackward>(&shape); a && flash_2(kind, era) && !newest)
    a->forward.algorithm = AttentionAlgorithm::fa2;
  return shape;
}

std::string_view attention_source(const Shape& shape, EngineKind kind, EngineEra era, bool newest) {
  if (!is_attention(shape) || newest) return "";
  if (!serves(kind)) return "flash_attention_2";
  return flash_2(kind, era) ? "vllm_flash_attn_fa2" : "";
}

double attention_longer(const Shape& shape, EngineKind kind, EngineEra era) {
  return era == EngineEra::year_2023 && !serves(kind) && is_attention(shape) ? kTriton2023 : 1.0;
}

std::string_view attention_source_on(const Gpu& gpu, const Shape& shape, std::string_view engine) {
  if (!is_attention(shape)) return "";
  const TensorGeneration generation = gpu.tensor_generation();
  const bool hopper = generation == TensorGeneration::wgmma, blackwell = generation == TensorGeneration::tcgen05;
  const bool decode = std::holds_alternative<AttentionDecode>(shape);
  if (engine == "trtllm") return "torch_flow";
  if (engine == "vllm") {
    if (blackwell) return decode ? "vllm_flashinfer_trtllmdecode" : "vllm_flashinfer_trtllmprefill";
    return hopper ? "vllm_flash_attn_fa3" : "vllm_flash_attn_fa2";
  }
  // server_args.py of SGLang: FlashAttention 3 on Hopper, TensorRT-LLM's kernels on Blackwell, FlashInfer elsewhere.
  if (engine == "sglang") return blackwell ? "trtllm_mha" : hopper ? "fa3" : "flashinfer";
  return "";
}

}  // namespace tilecast
