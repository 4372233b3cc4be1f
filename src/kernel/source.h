// What launches a kernel, and which of its kernels it is: small values, made once from the names that tables and users
// write.
//
// Names that plans know about are enumerators. Any other name is kept as text, which finds whatever was measured under
// it, or the likeliest kernel that was (estimate/learned.h, stand_in).
#pragma once

#include <cstdint>
#include <string_view>

namespace tilecast {

// An engine as measurement tables name it.
class Launcher {
 public:
  enum Known : std::uint8_t { nobody, vllm, sglang, trtllm, pytorch, aiter, other };

  constexpr Launcher() = default;
  constexpr Launcher(Known known)
      : text_(name_of(known)), known_(known == other ? nobody : known), of_pytorch_(known == pytorch) {}
  // Of static or interned text, which is kept as a view.
  static Launcher named(std::string_view text);

  constexpr std::string_view text() const { return text_; }
  constexpr bool empty() const { return known_ == nobody; }
  constexpr Known known() const { return known_; }
  // Its name says PyTorch, alone or with more ("pytorch_2.9").
  constexpr bool of_pytorch() const { return of_pytorch_; }

  friend constexpr bool operator==(const Launcher& a, Known b) { return a.known_ == b; }
  friend constexpr bool operator==(const Launcher& a, const Launcher& b) {
    return a.known_ == b.known_ && (a.known_ != other || a.text_ == b.text_);
  }

  static constexpr std::string_view name_of(Known known) {
    switch (known) {
      case vllm: return "vllm";
      case sglang: return "sglang";
      case trtllm: return "trtllm";
      case pytorch: return "pytorch";
      case aiter: return "aiter";
      case nobody:
      case other: break;
    }
    return "";
  }

 private:
  std::string_view text_;
  Known known_ = nobody;
  bool of_pytorch_ = false;
};

// A kernel as measurement tables name it.
class KernelSource {
 public:
  enum Known : std::uint8_t {
    unsaid,
    // PyTorch's walks over tensors, in the order of TorchWalk.
    torch,
    torch_strided,
    torch_widen,
    torch_strided_widen,
    torch_narrow,
    torch_cat,
    torch_index,
    torch_transposed,
    // Products.
    cublas,
    deepgemm,
    // Attention, as PyTorch runs it.
    flash_attention_2,
    flash_attention_3,
    flash_attention_4,
    cudnn,
    efficient_attention,
    ck_flash_attention,
    aiter_flash_attention,
    aiter_paged_attention,
    // As vLLM does.
    vllm_flash_attn,
    vllm_flash_attn_fa2,
    vllm_flash_attn_fa3,
    vllm_flashinfer_decode,
    vllm_flashinfer_prefill,
    vllm_paged_attention_v1,
    rocm_paged_attention,
    rocm_paged_attention_2024,
    rocm_triton_attention,
    // As SGLang does.
    fa3,
    flash_attention,
    flashinfer,
    trtllm_mha,
    triton,
    // As TensorRT-LLM does.
    torch_flow,
    // Experts.
    moe_torch_flow,
    moe_torch_flow_min_latency,
    fused_moe_kernel_default,
    vllm_fused_moe,
    vllm_fp8_triton_experts,
    vllm_mxfp4_triton_experts,
    vllm_mxfp4_marlin_experts,
    // Scans.
    causal_conv1d_cuda,
    other,
  };
  // Words within names, by which kernels are recognised.
  enum class Word : std::uint8_t {
    triton,
    marlin,
    preshuffle,
    flashinfer,
    flashinfer_cutlass,
    flashinfer_trtllm,
    cutlass,
    trtllm,
    torch_flow,
    min_latency,
    flashmla,
    fa3,
    sglang_fused_moe_triton,
    batched,     // at its start
    rocm_paged,  // at its start
    // Names of one kernel under several engines.
    kin_of_fa3,
    kin_of_fa2,
    kin_of_fa4,
    kin_of_triton,
  };

  constexpr KernelSource() = default;
  KernelSource(Known known);
  // Of static or interned text, which is kept as a view.
  static KernelSource named(std::string_view text);

  constexpr std::string_view text() const { return text_; }
  constexpr bool empty() const { return known_ == unsaid; }
  constexpr Known known() const { return known_; }
  constexpr bool says(Word word) const { return (words_ >> static_cast<unsigned>(word) & 1U) != 0; }

  friend constexpr bool operator==(const KernelSource& a, Known b) { return a.known_ == b; }
  friend constexpr bool operator==(const KernelSource& a, const KernelSource& b) {
    return a.known_ == b.known_ && (a.known_ != other || a.text_ == b.text_);
  }

 private:
  std::string_view text_;
  std::uint32_t words_ = 0;  // a bit for each Word
  Known known_ = unsaid;
};

}  // namespace tilecast
