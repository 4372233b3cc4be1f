#include "engine/attention_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "constants/engine.h"
#include "kernel/attention.h"
#include "kernel/attention_backward.h"
#include "kernel/attention_decode.h"
#include "kernel/attention_prefill.h"
#include "support/text.h"

namespace tilecast {

using namespace constants;

namespace {

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

AttentionAlgorithm algorithm_of(AttentionForm form) {
  switch (form) {
    case AttentionForm::flash2: return AttentionAlgorithm::fa2;
    case AttentionForm::flash3: return AttentionAlgorithm::fa3;
    case AttentionForm::flash4: return AttentionAlgorithm::blackwell;
    case AttentionForm::cudnn: return AttentionAlgorithm::cudnn;
    case AttentionForm::xformers: return AttentionAlgorithm::efficient;
    case AttentionForm::ck:  // their kernel sources say it
    case AttentionForm::aiter:
    case AttentionForm::triton:
    case AttentionForm::flashinfer:
    case AttentionForm::trtllm:
    case AttentionForm::fused:
    case AttentionForm::eager:
    case AttentionForm::math: break;
  }
  return AttentionAlgorithm::automatic;
}

}  // namespace

std::optional<AttentionForm> form_named(std::string_view name) {
  struct Spelling {
    std::string_view key;  // without case and punctuation
    AttentionForm form;
  };
  constexpr std::array kSpellings = {
      Spelling{"fa2", AttentionForm::flash2},
      Spelling{"flash2", AttentionForm::flash2},
      Spelling{"flashattn2", AttentionForm::flash2},
      Spelling{"flashattention2", AttentionForm::flash2},
      Spelling{"fa3", AttentionForm::flash3},
      Spelling{"flash3", AttentionForm::flash3},
      Spelling{"flashattn3", AttentionForm::flash3},
      Spelling{"flashattention3", AttentionForm::flash3},
      Spelling{"fa4", AttentionForm::flash4},
      Spelling{"flash4", AttentionForm::flash4},
      Spelling{"flashattn4", AttentionForm::flash4},
      Spelling{"flashattention4", AttentionForm::flash4},
      Spelling{"cudnn", AttentionForm::cudnn},
      Spelling{"cudnnattention", AttentionForm::cudnn},
      Spelling{"efficient", AttentionForm::xformers},
      Spelling{"efficientattention", AttentionForm::xformers},
      Spelling{"memefficient", AttentionForm::xformers},
      Spelling{"memoryefficient", AttentionForm::xformers},
      Spelling{"xformers", AttentionForm::xformers},
      Spelling{"ck", AttentionForm::ck},
      Spelling{"aiter", AttentionForm::aiter},
      Spelling{"triton", AttentionForm::triton},
      Spelling{"flexattention", AttentionForm::triton},
      Spelling{"flashinfer", AttentionForm::flashinfer},
      Spelling{"trtllm", AttentionForm::trtllm},
      Spelling{"trtllmgen", AttentionForm::trtllm},
      Spelling{"trtllmmha", AttentionForm::trtllm},
  };
  const std::string key = name_key(name);
  for (const Spelling& s : kSpellings)
    if (s.key == key) return s.form;
  return std::nullopt;
}

KernelSource attention_source_named(const KernelSource& source, const Launcher& engine, bool decode) {
  // The engine's own name asks for its usual kernel (estimate/standing.h).
  if (source.text() == engine.text()) return source;
  const auto form = form_named(source.text());
  if (!form) return source;
  if (engine == Launcher::pytorch) return source_of(*form);
  if (engine == Launcher::vllm || engine == Launcher::sglang) {
    const EngineKind kind = engine == Launcher::vllm ? EngineKind::vllm : EngineKind::sglang;
    if (const auto served = served_source(kind, *form, decode); served && !served->empty()) return *served;
  }
  return source.known() == KernelSource::other ? source_of(*form) : source;
}

bool is_attention(const Shape& shape) {
  return shape.is<AttentionPrefill>() || shape.is<AttentionDecode>() || shape.is<AttentionBackward>();
}

AttentionAlgorithm algorithm_of(const Shape& shape) {
  if (const auto* a = shape.get_if<AttentionPrefill>()) return a->algorithm;
  if (const auto* a = shape.get_if<AttentionDecode>()) return a->algorithm;
  if (const auto* a = shape.get_if<AttentionBackward>()) return a->forward.algorithm;
  return AttentionAlgorithm::automatic;
}

AttentionForm form_of(AttentionAlgorithm algorithm) {
  switch (algorithm) {
    case AttentionAlgorithm::automatic: break;
    case AttentionAlgorithm::fa2: return AttentionForm::flash2;
    case AttentionAlgorithm::fa3: return AttentionForm::flash3;
    case AttentionAlgorithm::blackwell: return AttentionForm::flash4;
    case AttentionAlgorithm::cudnn: return AttentionForm::cudnn;
    case AttentionAlgorithm::efficient: return AttentionForm::xformers;
    case AttentionAlgorithm::ck: return AttentionForm::ck;
    case AttentionAlgorithm::aiter: return AttentionForm::aiter;
  }
  return AttentionForm::fused;
}

KernelSource source_of(AttentionForm form) {
  switch (form) {
    case AttentionForm::flash2: return KernelSource::flash_attention_2;
    case AttentionForm::flash3: return KernelSource::flash_attention_3;
    case AttentionForm::flash4: return KernelSource::flash_attention_4;
    case AttentionForm::cudnn: return KernelSource::cudnn;
    case AttentionForm::xformers: return KernelSource::efficient_attention;
    case AttentionForm::ck: return KernelSource::ck_flash_attention;
    case AttentionForm::aiter: return KernelSource::aiter_flash_attention;
    case AttentionForm::triton: return KernelSource::triton;
    case AttentionForm::flashinfer: return KernelSource::flashinfer;
    case AttentionForm::trtllm: return KernelSource::trtllm_mha;
    case AttentionForm::fused:
    case AttentionForm::eager:
    case AttentionForm::math: break;
  }
  return {};
}

std::optional<KernelSource> served_source(EngineKind kind, AttentionForm form, bool decode) {
  const bool vllm = kind == EngineKind::vllm, sglang = kind == EngineKind::sglang;
  if (!vllm && !sglang) return std::nullopt;
  switch (form) {
    case AttentionForm::flash2:
      return vllm ? std::optional<KernelSource>(KernelSource::vllm_flash_attn_fa2) : std::nullopt;
    case AttentionForm::flash3: return vllm ? KernelSource::vllm_flash_attn_fa3 : KernelSource::fa3;
    case AttentionForm::triton: return KernelSource::triton;
    case AttentionForm::flashinfer: return KernelSource::flashinfer;
    case AttentionForm::trtllm:
      if (sglang) return KernelSource::trtllm_mha;
      return decode ? KernelSource::vllm_flashinfer_decode : KernelSource::vllm_flashinfer_prefill;
    case AttentionForm::aiter:
      return decode ? KernelSource::aiter_paged_attention : KernelSource::aiter_flash_attention;
    case AttentionForm::fused:
    case AttentionForm::eager:
    case AttentionForm::math:
    case AttentionForm::flash4:
    case AttentionForm::cudnn:
    case AttentionForm::xformers:
    case AttentionForm::ck: break;
  }
  return std::nullopt;
}

Status check_attention(AttentionForm form, EngineKind kind, const Gpu& gpu, const Format& format) {
  if (form == AttentionForm::fused) return Ok{};
  if (serves(kind) && !served_source(kind, form, false)) {
    std::string names;
    for (std::size_t i = 0; i < kAttentionFormNames.size(); ++i)
      if (i == 0 || served_source(kind, static_cast<AttentionForm>(i), false))
        names += (names.empty() ? "" : ", ") + std::string(kAttentionFormNames[i]);
    return field_error("attention", fmt::format("{} does not run {}", name_of(kind), name_of(form)),
                       "what it runs: " + names);
  }
  if (!serves(kind) && (form == AttentionForm::flashinfer || form == AttentionForm::trtllm))
    return field_error("attention", fmt::format("{} is a backend of vllm and sglang", name_of(form)),
                       "fused, or engine vllm");
  return check_attention(form, gpu, format);
}

Shape attention_as(Shape shape, EngineKind kind, EngineEra era, AttentionForm form) {
  const bool served_flash2 = form == AttentionForm::flash2 || (form == AttentionForm::fused && old_vllm(kind, era));
  const AttentionAlgorithm whose = !serves(kind)   ? algorithm_of(form)
                                   : served_flash2 ? AttentionAlgorithm::fa2
                                                   : AttentionAlgorithm::automatic;
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
  if (serves(kind) && form != AttentionForm::fused)
    return served_source(kind, form, shape.is<AttentionDecode>()).value_or(KernelSource::unsaid);
  if (serves(kind)) return old_vllm(kind, era) ? KernelSource::vllm_flash_attn_fa2 : KernelSource::unsaid;
  return source_of(form);
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

KernelSource attention_source_on(const Gpu& gpu, const Shape& shape, const Launcher& engine, const Format& format,
                                 PyTorchVersion torch) {
  if (!is_attention(shape)) return {};
  if (engine == Launcher::pytorch) return source_of(torch_attention(gpu, shape, format, torch));
  if (format.activation_bits > 16) return {};  // the engines' kernels take no fp32
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
    // vllm/platforms/cuda.py: FlashAttention needs compute capability 8.0; Triton's kernels stand in before it.
    if (gpu.vendor == Vendor::nvidia && gpu.architecture < Architecture::ampere) return KernelSource::triton;
    if (blackwell) return decode ? KernelSource::vllm_flashinfer_decode : KernelSource::vllm_flashinfer_prefill;
    return hopper ? KernelSource::vllm_flash_attn_fa3 : KernelSource::vllm_flash_attn_fa2;
  }
  // server_args.py of SGLang: FlashAttention 3 on Hopper, TensorRT-LLM's kernels on Blackwell, FlashInfer elsewhere.
  if (engine == Launcher::sglang)
    return blackwell ? KernelSource::trtllm_mha : hopper ? KernelSource::fa3 : KernelSource::flashinfer;
  return {};
}

Shape attention_that_runs(const Gpu& gpu, Shape shape) {
  const auto check = [&](AttentionAlgorithm& algorithm) {
    if (!resolve_algorithm(algorithm, gpu)) algorithm = AttentionAlgorithm::automatic;
  };
  if (auto* a = shape.get_if<AttentionDecode>()) check(a->algorithm);
  if (auto* a = shape.get_if<AttentionPrefill>()) check(a->algorithm);
  if (auto* a = shape.get_if<AttentionBackward>()) check(a->forward.algorithm);
  return shape;
}

}  // namespace tilecast
