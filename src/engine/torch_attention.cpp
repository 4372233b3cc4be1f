#include "engine/torch_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernel/attention.h"
#include "kernel/attention_backward.h"
#include "kernel/attention_decode.h"
#include "kernel/attention_prefill.h"
#include "support/text.h"

namespace tilecast {
namespace {

struct HeadDims {
  Count qk = 0, v = 0;
  Count larger() const { return std::max(qk, v); }
};

HeadDims dims_of_heads(const Shape& shape) {
  AttentionHeads heads;
  if (const auto* a = shape.get_if<AttentionPrefill>()) heads = a->geometry();
  else if (const auto* a = shape.get_if<AttentionDecode>()) heads = a->geometry();
  else if (const auto* a = shape.get_if<AttentionBackward>()) heads = a->forward.geometry();
  return {heads.qk_dim, heads.v_dim};
}

bool before_ampere(const Gpu& gpu) { return gpu.vendor == Vendor::nvidia && gpu.architecture < Architecture::ampere; }
bool at_most_16_bits(const Format& format) { return format.activation_bits <= 16; }
bool has_wgmma(const Gpu& gpu) { return gpu.tensor_generation() == TensorGeneration::wgmma; }
bool data_centre_blackwell(const Gpu& gpu) { return gpu.tensor_generation() == TensorGeneration::tcgen05; }

// check_prefer_cudnn_attention of sdp_utils.cpp. Release 2.5.0 put cuDNN first on compute capability 9 and later, 2.5.1
// took that back (pull request 138522), 2.9 put it first again on 9.0 and 10.0 where cuDNN is 9.9 or newer (162073:
// wheels brought 9.10), and 2.10 asks for cuDNN newer than 9.15, on 10.3 too, which wheels for CUDA 12 have from 2.11
// on (171627 and what was said of huggingface/transformers 48163). All 105 default calls of
// data/measurements/h200_attention_kernels.csv.gz, which are 2.11's, ran cuDNN.
bool prefers_cudnn(const Gpu& gpu, PyTorchVersion r) {
  if (!has_wgmma(gpu) && !data_centre_blackwell(gpu)) return false;
  if (r.major == 2 && r.minor == 5) return r.patch == 0;
  if (r.major == 2 && r.minor == 9) return gpu.compute_capability.ends_with(".0");
  return r >= PyTorchVersion{2, 11, 0};
}

// check_cudnn_tensor_shapes: heads of up to 128 in steps of 8; on Hopper, from cuDNN 9.10 on (wheels of 2.9), up to
// 256; on Blackwell beside them 192 with values of 128.
bool cudnn_takes(const HeadDims& heads, const Gpu& gpu, PyTorchVersion release) {
  if (heads.qk % 8 != 0 || heads.v % 8 != 0) return false;
  if (heads.larger() <= 128) return true;
  if (release < PyTorchVersion{2, 9, 0}) return false;
  return has_wgmma(gpu) ? heads.larger() <= 256 : heads.qk == 192 && heads.v == 128;
}

// can_use_flash_attention, can_use_mem_efficient_attention: FlashAttention 2 is written for Ampere and later, 16 bits,
// and heads of up to 256 alike for keys and values; the memory-efficient kernel for Maxwell and later, heads of any
// width, fp32 and fp16 everywhere and bf16 from Ampere on. Nothing is left for bf16 before it but plain products.
AttentionForm nvidia_attention(const Gpu& gpu, const HeadDims& heads, const Format& format, PyTorchVersion release) {
  const bool half = at_most_16_bits(format);
  if (half && prefers_cudnn(gpu, release) && cudnn_takes(heads, gpu, release)) return AttentionForm::cudnn;
  if (half && !before_ampere(gpu) && heads.qk == heads.v && heads.larger() <= 256) return AttentionForm::flash2;
  if (before_ampere(gpu) && format.math == DType::bf16) return AttentionForm::math;
  const Count alignment = half && gpu.architecture >= Architecture::volta ? 8 : before_ampere(gpu) ? 1 : 4;
  return heads.qk % alignment == 0 && heads.v % alignment == 0 ? AttentionForm::xformers : AttentionForm::math;
}

Status refused(const Gpu& gpu, std::string_view kernel, std::string_view needs, std::string_view instead) {
  return field_error("attention", fmt::format("{} needs {}, and {} is not that", kernel, needs, gpu.name),
                     std::string(instead));
}

}  // namespace

Result<PyTorchVersion> torch_from(std::string_view text) {
  const auto wrong = [&] {
    return field_error("torch", fmt::format("'{}' is not a release of PyTorch 2", text), "for example 2.6 or 2.5.1");
  };
  const auto parts = split(text, '.');
  if (parts.size() < 2 || parts.size() > 3) return wrong();
  std::array<int, 3> numbers{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].empty() || parts[i].size() > 3) return wrong();
    for (const char c : parts[i]) {
      if (c < '0' || c > '9') return wrong();
      numbers[i] = 10 * numbers[i] + (c - '0');
    }
  }
  if (numbers[0] != 2) return wrong();
  return PyTorchVersion{numbers[0], numbers[1], numbers[2]};
}

PyTorchVersion torch_of(EngineEra era) {
  switch (era) {
    case EngineEra::current: break;
    case EngineEra::year_2023: return {2, 0, 0};
    case EngineEra::year_2024: return {2, 4, 0};
  }
  return {};
}

AttentionForm torch_attention(const Gpu& gpu, const Shape& attention, const Format& format, PyTorchVersion release) {
  if (gpu.vendor == Vendor::nvidia) return nvidia_attention(gpu, dims_of_heads(attention), format, release);
  // ROCm's flash kernel is FlashAttention 2 in Triton (AOTriton).
  return at_most_16_bits(format) ? AttentionForm::flash2 : AttentionForm::fused;
}

Status check_attention(AttentionForm form, const Gpu& gpu, const Format& format) {
  const bool nvidia = gpu.vendor == Vendor::nvidia;
  const auto narrow = [&](std::string_view kernel) -> Status {
    if (at_most_16_bits(format)) return Ok{};
    return field_error("attention", fmt::format("{} takes 16 bits and less, not {}", kernel, format.name),
                       "fused or xformers");
  };
  switch (form) {
    case AttentionForm::fused:
    case AttentionForm::eager:
    case AttentionForm::math: return Ok{};
    case AttentionForm::flash2:
      if (before_ampere(gpu)) return refused(gpu, "FlashAttention 2", "Ampere or later", "fused or xformers");
      return narrow("FlashAttention 2");
    case AttentionForm::flash3:
      if (!has_wgmma(gpu)) return refused(gpu, "FlashAttention 3", "Hopper", "fused or flash2");
      return narrow("FlashAttention 3");
    case AttentionForm::flash4:
      if (!data_centre_blackwell(gpu))
        return refused(gpu, "FlashAttention 4", "data-centre Blackwell", "fused or flash2");
      return narrow("FlashAttention 4");
    case AttentionForm::cudnn:
      if (!nvidia) return refused(gpu, "cuDNN", "an NVIDIA card", "fused, ck or aiter");
      if (before_ampere(gpu)) return refused(gpu, "cuDNN's attention", "Ampere or later", "fused or xformers");
      return narrow("cuDNN's attention");
    case AttentionForm::xformers:
      if (before_ampere(gpu) && format.math == DType::bf16)
        return field_error("attention", fmt::format("the memory-efficient kernel has no bf16 on {}", gpu.name),
                           "dtype fp16, or attention math");
      return Ok{};
    case AttentionForm::ck:
      if (gpu.vendor != Vendor::amd) return refused(gpu, "Composable Kernel", "an AMD card", "fused");
      return narrow("Composable Kernel's attention");
    case AttentionForm::aiter:
      if (!gpu.cdna3_or_later()) return refused(gpu, "AITER's attention", "CDNA3 or later", "fused");
      return narrow("AITER's attention");
    case AttentionForm::triton: return narrow("Triton's attention");
    case AttentionForm::flashinfer:
      if (!nvidia) return refused(gpu, "FlashInfer", "an NVIDIA card", "fused, triton or aiter");
      if (gpu.architecture < Architecture::turing) return refused(gpu, "FlashInfer", "Turing or later", "fused");
      return narrow("FlashInfer");
    case AttentionForm::trtllm:
      if (!data_centre_blackwell(gpu))
        return refused(gpu, "TRT-LLM-gen's attention", "data-centre Blackwell", "fused or flashinfer");
      return narrow("TRT-LLM-gen's attention");
  }
  return Ok{};
}

}  // namespace tilecast
