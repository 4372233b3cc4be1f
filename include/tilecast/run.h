// How a model's step is run: what it has to do, on which engine, in which precision. Shared by every question about
// whole models (tilecast/step.h, memory.h and those that build on them).
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "tilecast/units.h"

namespace tilecast {

enum class Mode : std::uint8_t {
  prefill,  // all tokens of new prompts; for an encoder, its only pass
  decode,   // one token (or a few) per request, against its cache
  mixed,    // some requests of each kind in one batch
  train,    // forward, backward and the optimizer's step
};
inline constexpr std::array<std::string_view, 4> kModeNames = {"prefill", "decode", "mixed", "train"};
constexpr std::string_view name_of(Mode m) { return kModeNames[static_cast<std::size_t>(m)]; }
constexpr const auto& enum_names(Mode) { return kModeNames; }

// Equal requests: `new_tokens` each, after `cached` ones whose keys are kept.
struct Requests {
  Count count = 1;
  Count new_tokens = 0;
  Count cached = 0;
};

enum class EngineKind : std::uint8_t {
  pytorch,        // eager: one kernel per operator, as written in Hugging Face's code
  compile,        // torch.compile: pointwise chains and reductions fused, launched one by one
  cudagraph,      // one fused kernel per operator, replayed in a CUDA graph
  pytorch_graph,  // the kernels of eager PyTorch, replayed in a CUDA graph
  vllm,
  sglang,
  trtllm,
};
inline constexpr std::array<std::string_view, 7> kEngineNames = {"pytorch", "compile", "cudagraph", "pytorch-graph",
                                                                 "vllm",    "sglang",  "trtllm"};
constexpr std::string_view name_of(EngineKind e) { return kEngineNames[static_cast<std::size_t>(e)]; }
constexpr const auto& enum_names(EngineKind) { return kEngineNames; }
constexpr bool serves(EngineKind e) {
  return e == EngineKind::vllm || e == EngineKind::sglang || e == EngineKind::trtllm;
}

// Releases of an engine: they differ in host code and attention kernels more than cards do.
enum class EngineEra : std::uint8_t {
  current,    // vLLM's V1 with asynchronous scheduling, SGLang and TensorRT-LLM with overlapped scheduling
  year_2023,  // PyTorch 1.13 and 2.0: FlashAttention in Triton
  year_2024,  // vLLM before 0.6, TensorRT-LLM before 0.12: the scheduler waits for each step's tokens
};
inline constexpr std::array<std::string_view, 3> kEngineEraNames = {"current", "2023", "2024"};
constexpr std::string_view name_of(EngineEra e) { return kEngineEraNames[static_cast<std::size_t>(e)]; }
constexpr const auto& enum_names(EngineEra) { return kEngineEraNames; }

// Which attention kernels an engine runs.
enum class AttentionForm : std::uint8_t {
  fused,       // what PyTorch's scaled_dot_product_attention, or the engine, picks on the card
  eager,       // products and a softmax, as written in models
  math,        // the fallback of scaled_dot_product_attention, in fp32, if no fused kernel supports the mask
  flash2,      // FlashAttention 2
  flash3,      // FlashAttention 3: Hopper
  flash4,      // FlashAttention 4: data-centre Blackwell
  cudnn,       // cuDNN, as used by Transformer Engine and Megatron from Hopper on
  xformers,    // CUTLASS kernels of xFormers, PyTorch's "efficient"
  ck,          // AMD: Composable Kernel, as ROCm's FlashAttention 2
  aiter,       // AMD: AITER's assembly kernels
  triton,      // Triton's: PyTorch's FlexAttention, the Triton backends of vLLM and SGLang
  flashinfer,  // FlashInfer's own kernels, in vLLM and SGLang
  trtllm,      // TRT-LLM-gen's generated kernels in vLLM and SGLang: data-centre Blackwell
};
inline constexpr std::array<std::string_view, 13> kAttentionFormNames = {
    "fused",    "eager", "math",  "flash2", "flash3",     "flash4", "cudnn",
    "xformers", "ck",    "aiter", "triton", "flashinfer", "trtllm"};
constexpr std::string_view name_of(AttentionForm a) { return kAttentionFormNames[static_cast<std::size_t>(a)]; }
constexpr const auto& enum_names(AttentionForm) { return kAttentionFormNames; }

enum class MixedPrecision : std::uint8_t {
  none,      // parameters, gradients and products share one format
  autocast,  // fp32 parameters, cast to the products' format in every forward pass (PyTorch's autocast)
  master,    // parameters in the products' format, an fp32 copy with the optimizer (Megatron, DeepSpeed)
};
inline constexpr std::array<std::string_view, 3> kMixedPrecisionNames = {"none", "autocast", "master"};
constexpr std::string_view name_of(MixedPrecision m) { return kMixedPrecisionNames[static_cast<std::size_t>(m)]; }
constexpr const auto& enum_names(MixedPrecision) { return kMixedPrecisionNames; }

enum class Recompute : std::uint8_t {
  none,       // every activation needed by a gradient is kept
  full,       // only a repeated layer's input is kept; the layer runs forward again before its gradients
  selective,  // modules of a layer run again (Megatron's selective granularity): attention's core, unless others are
              // named
  operators,  // attention and every second product are kept, everything else runs again (torchtitan's option "op")
  alternate,  // as in full, for every second or every n-th layer (torchtitan's option 2 and other numbers)
};
inline constexpr std::array<std::string_view, 5> kRecomputeNames = {"none", "full", "selective", "operators",
                                                                    "alternate"};
constexpr std::string_view name_of(Recompute r) { return kRecomputeNames[static_cast<std::size_t>(r)]; }
constexpr const auto& enum_names(Recompute) { return kRecomputeNames; }

// Parts of a layer that run again on their own, by the names of Megatron-Core's --recompute-modules. For core_attn,
// mlp, moe and shared_experts the input is kept, and so is the output if something else keeps it; for layernorm,
// mla_up_proj and moe_act the result is discarded too, and recomputed before the gradients of its consumers
// ("output-discarding").
enum class RecomputeModule : std::uint8_t {
  core_attn,       // attention itself, without its projections
  layernorm,       // the norms before a layer's blocks
  mla_up_proj,     // latent attention: norms of the latent vectors, products from them to heads, rotations
  mlp,             // dense feed-forward blocks
  moe,             // whole mixtures of experts: router, exchanges, experts, shared experts
  moe_act,         // the activation between the experts' products
  shared_experts,  // the experts that process all tokens
};
inline constexpr std::array<std::string_view, 7> kRecomputeModuleNames = {
    "core_attn", "layernorm", "mla_up_proj", "mlp", "moe", "moe_act", "shared_experts"};
constexpr std::string_view name_of(RecomputeModule m) { return kRecomputeModuleNames[static_cast<std::size_t>(m)]; }
constexpr const auto& enum_names(RecomputeModule) { return kRecomputeModuleNames; }

// Everything that runs forward again before its gradients.
struct Recomputation {
  Recompute kind = Recompute::none;
  std::array<bool, kRecomputeModuleNames.size()> modules = {true};  // for selective; by default attention's core
  Count every = 2;                                                  // for alternate: one layer in this many

  constexpr Recomputation() = default;
  constexpr Recomputation(Recompute k) : kind(k) {}  // what a kind means by default
  constexpr explicit Recomputation(std::initializer_list<RecomputeModule> list) : kind(Recompute::selective) {
    modules = {};
    for (const RecomputeModule m : list) modules[static_cast<std::size_t>(m)] = true;
  }
  constexpr bool runs(RecomputeModule m) const {
    return kind == Recompute::selective && modules[static_cast<std::size_t>(m)];
  }
  // For selective: which modules; for others, none.
  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (std::size_t i = 0; i < modules.size(); ++i)
      if (runs(static_cast<RecomputeModule>(i))) list.emplace_back(kRecomputeModuleNames[i]);
    return list;
  }
  constexpr bool operator==(const Recomputation&) const = default;
};

// How a micro-batch's weight gradients are added to earlier ones.
enum class GradientSum : std::uint8_t {
  apart,       // a kernel adds them, in their own width (PyTorch)
  in_product,  // the product that computes them accumulates (Megatron's gradient_accumulation_fusion)
  widened,     // computed in the products' format, then added to fp32 buffers (nanotron)
};

// Which part of the training state is kept in host memory.
enum class Offload : std::uint8_t {
  none,
  optimizer,    // its states, updated by the host (ZeRO-Offload)
  activations,  // those kept for gradients, except in the layers being computed
  both,
};
inline constexpr std::array<std::string_view, 4> kOffloadNames = {"none", "optimizer", "activations", "both"};
constexpr std::string_view name_of(Offload o) { return kOffloadNames[static_cast<std::size_t>(o)]; }
constexpr const auto& enum_names(Offload) { return kOffloadNames; }
constexpr bool offloads_optimizer(Offload o) { return o == Offload::optimizer || o == Offload::both; }
constexpr bool offloads_activations(Offload o) { return o == Offload::activations || o == Offload::both; }

enum class TrainingOptimizer : std::uint8_t { adamw, adam, sgd };
inline constexpr std::array<std::string_view, 3> kTrainingOptimizerNames = {"adamw", "adam", "sgd"};
constexpr std::string_view name_of(TrainingOptimizer o) { return kTrainingOptimizerNames[static_cast<std::size_t>(o)]; }
constexpr const auto& enum_names(TrainingOptimizer) { return kTrainingOptimizerNames; }

// What a run keeps in a GPU's memory at its peak.
struct MemoryNeed {
  Bytes weights;
  Bytes gradients;
  Bytes optimizer;    // its states, and the fp32 copy of the parameters if there is one
  Bytes activations;  // at their peak: kept for gradients, or alive between two kernels
  // Activations are freed as gradients appear: the part of the two that is never held at once.
  Bytes handed_over;
  Bytes cache;      // keys and values, states of linear attention
  Bytes workspace;  // of libraries and the driver
  Bytes total() const { return weights + gradients + optimizer + activations + cache + workspace - handed_over; }
};

}  // namespace tilecast
