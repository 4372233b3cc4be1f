#include "engine/attention_kernel.h"

#include <algorithm>

#include "constants/engine.h"
#include "kernel/attention.h"
#include "kernel/attention_backward.h"
#include "kernel/attention_decode.h"
#include "kernel/attention_prefill.h"

namespace tilecast {

using namespace constants;

namespace {

bool is_attention(const Shape& shape) {
  return shape.is<AttentionPrefill>() || shape.is<AttentionDecode>() || shape.is<AttentionBackward>();
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

// vLLM's kernel before it had FlashAttention 3.
bool old_vllm(EngineKind kind, EngineEra era) { return kind == EngineKind::vllm && era == EngineEra::year_2024; }

// PyTorch of 2023 and 2024 had FlashAttention 2 on every card (cuDNN was first in 2.5.0 alone).
AttentionForm form_of(AttentionForm asked, EngineEra era) {
  return asked == AttentionForm::fused && era != EngineEra::current ? AttentionForm::flash2 : asked;
}

AttentionAlgorithm algorithm_of(AttentionForm form) {
  switch (form) {
    case AttentionForm::flash2: return AttentionAlgorithm::fa2;
    case AttentionForm::flash3: return AttentionAlgorithm::fa3;
    case AttentionForm::flash4: return AttentionAlgorithm::blackwell;
    case AttentionForm::cudnn: return AttentionAlgorithm::cudnn;
    case AttentionForm::xformers: return AttentionAlgorithm::efficient;
    case AttentionForm::ck:  // their kernel sources say it
    case AttentionForm::aiter:
    case AttentionForm::fused:
    case AttentionForm::eager:
    case AttentionForm::math: break;
  }
  return AttentionAlgorithm::automatic;
}

Count head_dim(const Shape& shape) {
  if (const auto* a = shape.get_if<AttentionPrefill>()) return std::max(a->head_dim, a->v_head_dim);
  if (const auto* a = shape.get_if<AttentionDecode>()) return a->head_dim;
  if (const auto* a = shape.get_if<AttentionBackward>()) return std::max(a->forward.head_dim, a->forward.v_head_dim);
  return 0;
}

// sdp_utils.cpp, check_prefer_cudnn_attention: with cuDNN newer than 9.15 (PyTorch 2.11 brings 9.19) it comes first on
// compute capabilities 9 and 10, for heads of up to 256 in steps of 8; FlashAttention 2 otherwise. On an H200 all 105
// default calls of data/measurements/h200_attention_kernels.csv.gz ran cuDNN. ROCm's flash kernel is FlashAttention 2
// in Triton.
KernelSource pytorch_source(const Gpu& gpu, const Shape& shape) {
  const TensorGeneration generation = gpu.tensor_generation();
  const bool first = generation == TensorGeneration::wgmma || generation == TensorGeneration::tcgen05;
  const Count dim = head_dim(shape);
  return first && dim <= 256 && dim % 8 == 0 ? KernelSource::cudnn : KernelSource::flash_attention_2;
}

}  // namespace

Shape attention_as(Shape shape, EngineKind kind, EngineEra era, AttentionForm form) {
  const AttentionAlgorithm whose = serves(kind)
                                       ? old_vllm(kind, era) ? AttentionAlgorithm::fa2 : AttentionAlgorithm::automatic
                                       : algorithm_of(form_of(form, era));
  // TensorRT-LLM compares the window with the lengths before it picks a kernel. vLLM passes it to FlashAttention, which
  // then loses its packing of query heads; in 2024 vLLM's block tables cut the cache and the kernel did not know about
  // the window.
  const bool idle_window_is_none =
      kind == EngineKind::trtllm || (kind == EngineKind::vllm && era == EngineEra::year_2024);
  if (auto* a = shape.get_if<AttentionDecode>()) {
    if (idle_window_is_none) drop_idle_window(*a);
    a->algorithm = whose;
  }
  if (auto* a = shape.get_if<AttentionPrefill>()) {
    if (idle_window_is_none) drop_idle_window(*a);
    a->algorithm = whose;
  }
  if (auto* a = shape.get_if<AttentionBackward>()) a->forward.algorithm = whose;
  return shape;
}

KernelSource attention_source(const Shape& shape, EngineKind kind, EngineEra era, AttentionForm form) {
  if (!is_attention(shape)) return {};
  if (serves(kind)) return old_vllm(kind, era) ? KernelSource::vllm_flash_attn_fa2 : KernelSource::unsaid;
  switch (form_of(form, era)) {
    case AttentionForm::flash2: return KernelSource::flash_attention_2;
    case AttentionForm::flash3: return KernelSource::flash_attention_3;
    case AttentionForm::flash4: return KernelSource::flash_attention_4;
    case AttentionForm::cudnn: return KernelSource::cudnn;
    case AttentionForm::xformers: return KernelSource::efficient_attention;
    case AttentionForm::ck: return KernelSource::ck_flash_attention;
    case AttentionForm::aiter: return KernelSource::aiter_flash_attention;
    case AttentionForm::fused:
    case AttentionForm::eager:
    case AttentionForm::math: break;
  }
  return {};
}

namespace {

bool is_triton_of_2023(const Shape& shape, EngineKind kind, EngineEra era) {
  return era == EngineEra::year_2023 && !serves(kind) && is_attention(shape);
}

}  // namespace

double attention_longer(const Shape& shape, EngineKind kind, EngineEra era) {
  return is_triton_of_2023(shape, kind, era) ? kTriton2023 : 1.0;
}
double attention_longer_on_hopper(const Shape& shape, EngineKind kind, EngineEra era) {
  return is_triton_of_2023(shape, kind, era) ? kTriton2023Hopper / kTriton2023 : 1.0;
}

KernelSource attention_source_on(const Gpu& gpu, const Shape& shape, const Launcher& engine) {
  if (!is_attention(shape)) return {};
  const TensorGeneration generation = gpu.tensor_generation();
  const bool hopper = generation == TensorGeneration::wgmma, blackwell = generation == TensorGeneration::tcgen05;
  const bool decode = shape.is<AttentionDecode>();
  // vLLM's default on ROCm (vllm/platforms/rocm.py: AITER is asked for by a variable), SGLang's (server_args.py).
  if (gpu.vendor == Vendor::amd && engine == Launcher::vllm)
    return decode ? KernelSource::rocm_paged_attention : KernelSource::rocm_triton_attention;
  // AITER is built for CDNA3 and CDNA4; Triton's kernels run on older cards (attention_backend triton).
  if (gpu.vendor == Vendor::amd && engine == Launcher::sglang && !gpu.cdna3_or_later()) return KernelSource::triton;
  if (gpu.vendor == Vendor::amd && engine == Launcher::sglang)
    return decode ? KernelSource::aiter_paged_attention : KernelSource::aiter_flash_attention;
  if (engine == Launcher::trtllm) return KernelSource::torch_flow;
  if (engine == Launcher::vllm) {
    if (blackwell) return decode ? KernelSource::vllm_flashinfer_decode : KernelSource::vllm_flashinfer_prefill;
    return hopper ? KernelSource::vllm_flash_attn_fa3 : KernelSource::vllm_flash_attn_fa2;
  }
  // server_args.py of SGLang: FlashAttention 3 on Hopper, TensorRT-LLM's kernels on Blackwell, FlashInfer elsewhere.
  if (engine == Launcher::sglang)
    return blackwell ? KernelSource::trtllm_mha : hopper ? KernelSource::fa3 : KernelSource::flashinfer;
  if (engine == Launcher::pytorch) return pytorch_source(gpu, shape);
  return {};
}

}  // namespace tilecast
