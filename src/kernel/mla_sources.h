// What is known about the engines' kernels for multi-head latent attention: which one runs, how it splits the keys, and
// what surrounds it.
#pragma once

#include "kernel/attention.h"
#include "kernel/context.h"
#include "kernel/plan.h"

namespace tilecast {

enum class MlaDecoder : std::uint8_t {
  flash_mla,  // FlashMLA, and FlashAttention 3 with the latent as value: 64 rows, 64 tokens, two warp groups
  generated,  // TRT-LLM-gen's kernels for data-centre Blackwell
  unsplit,    // TensorRT-LLM's mma.sync kernels: four CTAs share the values of 64 rows, none shares the keys
  xqa,        // the same for 128 heads in fp8, on workstation Blackwell
  triton,     // vLLM's and SGLang's grouped split-key kernels: 16 rows, 32 tokens
};
struct MlaQuestion {
  Count heads = 0;
  CacheType cache = CacheType::same;
  AttentionAlgorithm algorithm = AttentionAlgorithm::fa2;  // resolved
};
MlaDecoder mla_decoder(const MlaQuestion& question, const Context& context, const Gpu& gpu);

// Clocks that a CTA's request, each of its rows and each of its key blocks take.
struct MlaWaits {
  double task = 0, row = 0, block = 0;
  double idle = 0;  // of a CTA without keys
};
MlaWaits mla_waits(MlaDecoder decoder, CacheType cache, const Gpu& gpu);

// A kernel that only moves bytes: its own results or those of an earlier kernel.
Launch mla_copy(std::string_view name, double read, double written, double trips);

// vLLM's layer outside a graph, as its collectors time it, including what surrounds the attention.
bool whole_layer(const Context& context);
// The host's time to launch a plan outside a graph, where it is known to exceed the launches' own floors; the GPU waits
// for it.
Seconds host_time(const Plan& plan, const Context& context);

// SGLang's collectors run prompts through the absorbed form: all heads share one key of 576 elements.
bool absorbed_prefill(const Context& context);

}  // namespace tilecast
