#include "kernel/source.h"

#include <algorithm>
#include <array>

namespace tilecast {
namespace {

constexpr std::size_t kKnownSources = KernelSource::other;
// In the order of KernelSource::Known.
constexpr std::array<std::string_view, kKnownSources> kSourceNames = {
    "",
    "torch",
    "torch_strided",
    "torch_widen",
    "torch_strided_widen",
    "torch_narrow",
    "torch_cat",
    "torch_index",
    "torch_transposed",
    "cublas",
    "deepgemm",
    "flash_attention_2",
    "flash_attention_3",
    "flash_attention_4",
    "cudnn",
    "efficient_attention",
    "ck_flash_attention",
    "aiter_flash_attention",
    "aiter_paged_attention",
    "vllm_flash_attn",
    "vllm_flash_attn_fa2",
    "vllm_flash_attn_fa3",
    "vllm_flashinfer_trtllmdecode",
    "vllm_flashinfer_trtllmprefill",
    "vllm_paged_attention_v1",
    "rocm_paged_attention",
    "rocm_paged_attention_2024",
    "rocm_triton_attention",
    "fa3",
    "flash_attention",
    "flashinfer",
    "trtllm_mha",
    "triton",
    "torch_flow",
    "moe_torch_flow",
    "moe_torch_flow_min_latency",
    "fused_moe_kernel_default",
    "vllm_fused_moe",
    "vllm_fp8moe_triton_tritonexperts",
    "vllm_gptossmxfp4moe_triton_oaitritonmxfp4expertsmonolithic",
    "vllm_gptossmxfp4moe_marlin_marlinexperts",
    "causal_conv1d_cuda",
};

struct Spelling {
  KernelSource::Word word;
  std::string_view text;
  bool at_start = false;
};
using Word = KernelSource::Word;
constexpr std::array kSpellings = {
    Spelling{Word::triton, "triton"},
    Spelling{Word::marlin, "marlin"},
    Spelling{Word::preshuffle, "preshuffle"},
    Spelling{Word::flashinfer, "flashinfer"},
    Spelling{Word::flashinfer_cutlass, "flashinfer_cutlass"},
    Spelling{Word::flashinfer_trtllm, "flashinfer_trtllm"},
    Spelling{Word::cutlass, "cutlass"},
    Spelling{Word::trtllm, "trtllm"},
    Spelling{Word::torch_flow, "torch_flow"},
    Spelling{Word::min_latency, "min_latency"},
    Spelling{Word::flashmla, "flashmla"},
    Spelling{Word::fa3, "fa3"},
    Spelling{Word::sglang_fused_moe_triton, "sglang_fused_moe_triton"},
    Spelling{Word::batched, "batched", true},
    Spelling{Word::rocm_paged, "rocm_paged_attention", true},
    Spelling{Word::kin_of_fa3, "fa3"},
    Spelling{Word::kin_of_fa3, "flash_attention_3"},
    Spelling{Word::kin_of_fa3, "attention_v3"},
    Spelling{Word::kin_of_fa2, "fa2"},
    Spelling{Word::kin_of_fa2, "flash_attention_2"},
    Spelling{Word::kin_of_fa2, "attention_v2"},
    Spelling{Word::kin_of_fa4, "fa4"},
    Spelling{Word::kin_of_fa4, "flash_attention_4"},
    Spelling{Word::kin_of_fa4, "attention_v4"},
    Spelling{Word::kin_of_triton, "triton"},
    Spelling{Word::kin_of_triton, "flex_attention"},
    Spelling{Word::kin_of_triton, "aotriton"},
};

constexpr std::uint32_t words_of(std::string_view name) {
  std::uint32_t words = 0;
  for (const Spelling& s : kSpellings)
    if (s.at_start ? name.starts_with(s.text) : name.find(s.text) != std::string_view::npos)
      words |= 1U << static_cast<unsigned>(s.word);
  return words;
}

constexpr std::array<std::uint32_t, kKnownSources> known_words() {
  std::array<std::uint32_t, kKnownSources> words{};
  for (std::size_t i = 0; i < kKnownSources; ++i) words[i] = words_of(kSourceNames[i]);
  return words;
}
constexpr std::array<std::uint32_t, kKnownSources> kKnownWords = known_words();

}  // namespace

Launcher Launcher::named(std::string_view text) {
  for (const Known known : {nobody, vllm, sglang, trtllm, pytorch, aiter})
    if (text == name_of(known)) return known;
  Launcher launcher;
  launcher.text_ = text;
  launcher.known_ = other;
  launcher.of_pytorch_ = text.starts_with(name_of(pytorch));
  return launcher;
}

KernelSource::KernelSource(Known known)
    : text_(known == other ? std::string_view() : kSourceNames[known]),
      words_(known == other ? 0 : kKnownWords[known]),
      known_(known == other ? unsaid : known) {}

KernelSource KernelSource::named(std::string_view text) {
  const auto found = std::find(kSourceNames.begin(), kSourceNames.end(), text);
  if (found != kSourceNames.end()) return static_cast<Known>(found - kSourceNames.begin());
  KernelSource source;
  source.text_ = text;
  source.words_ = words_of(text);
  source.known_ = other;
  return source;
}

}  // namespace tilecast
