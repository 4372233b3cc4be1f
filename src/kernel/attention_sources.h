// What is known about the engines' decode kernels: which one runs for which request, how it splits the keys, and how
// long its CTAs wait. All such knowledge is kept here.
#pragma once

#include <optional>

#include "kernel/attention.h"
#include "kernel/context.h"
#include "kernel/plan.h"

namespace tilecast {

enum class Decoder : std::uint8_t {
  fa2,                // FlashAttention 2, split keys
  fa3,                // FlashAttention 3, its build for Ampere included
  generated,          // TRT-LLM-gen's kernels for data-centre Blackwell
  xqa,                // TensorRT-LLM XQA on mma.sync
  xqa_wgmma,          // its Hopper kernel for an fp8 cache
  mmha,               // TensorRT-LLM masked multi-head attention: one CTA per query head, on the vector pipe
  flashinfer,         // FlashInfer's tensor-core kernel, FlashAttention 2's tiles with few rows
  flashinfer_vector,  // its kernel for small groups
  triton,             // split-key Triton kernels of SGLang and vLLM
  cudnn,              // cuDNN's split-key kernel on mma.sync, which PyTorch runs on Hopper too
  paged,              // vLLM's paged_attention_v1: one CTA per query head and request, on the vector pipe
  rocm_paged,         // vLLM's paged_attention_rocm: 256 keys per CTA, a group of query heads on the matrix pipe
  rocm_paged_2024,    // the same before 2025, on products of 4 x 4
  aiter_paged,        // AITER's pa_fwd_asm
};

struct DecodeQuestion {
  AttentionHeads heads;
  Count requests = 0, keys = 0;  // keys of the longest request
  CacheType cache = CacheType::same;
  AttentionAlgorithm algorithm = AttentionAlgorithm::fa2;  // resolved
  bool window = false;
  bool bfloat = false;  // 16-bit operands are bf16, not fp16

  // Only then does FlashAttention 2 pack a group's heads as rows and split the keys.
  bool swapped() const { return heads.group() > 1 && !window; }
};

Decoder decoder_of(const DecodeQuestion& question, const Context& context, const Gpu& gpu);

// FlashInfer's own kernels, not others that it calls.
bool own_flashinfer(const Context& context);

// Engine versions renamed some kernels; this is the name under which facts about a kernel are kept.
KernelSource kept_as(const KernelSource& source);

// The algorithm behind PyTorch's kernel sources ("flash_attention_2", "cudnn", "efficient_attention"); `automatic` for
// others.
AttentionAlgorithm algorithm_named(const KernelSource& source);

// Whether the card can run a kernel of that name: those of one vendor, or of one generation, are refused elsewhere. The
// error names the field "kernel-source".
Status check_source(const KernelSource& source, const Gpu& gpu);

// False for the engines' kernels that read the whole cache whatever the window.
bool honours_window(const Context& context, Count window);

// Shape and waiting times of a decoder's CTA; clocks of the SM.
struct DecoderShape {
  int rows = 16, keys = 64;  // fewest rows in a tile; keys per step
  bool packed = true;        // a group of query heads is one tile
  bool vector = false;       // multiplies on the vector pipe
  bool joins_itself = false;
  bool serial = false;  // clocks per key are the SM's, which concurrent CTAs share
  CtaShape cta;
  double task_clocks = 0;     // prologue, epilogue, first loads
  double step_clocks = 0;     // exposed clocks of one step of keys
  double join_clocks = 0;     // a split task's share of joining the results, if no separate kernel does
  double clocks_per_kib = 0;  // per KiB of K and V in a step, for loading and converting
  double clocks_per_key = 0;  // per key, for arithmetic that depends on query heads, not bytes
};
DecoderShape decoder_shape(Decoder decoder, const DecodeQuestion& question, const Gpu& gpu);

// Small kernels around a decode: copies that gather a group's queries and scatter the results, casts to the cache's
// type.
struct Helpers {
  int copies = 0;
  double copy_steps = 0, combine_steps = 1;  // dependent loads of each, and of the kernel that joins split keys
  double start_clocks = 0;                   // of the decode itself, that nothing overlaps
};
Helpers decode_helpers(Decoder decoder, const DecodeQuestion& question, const Context& context, const Gpu& gpu);

// The same around a prefill, as passes over the queries and over the keys and values, each a read or a write: engines
// first store keys and values in the cache, TensorRT-LLM from a fused projection that it splits.
struct Passes {
  double queries = 0, keys = 0;
  int others = 0;  // kernels that move next to nothing
};
Passes prefill_passes(const Context& context, const Gpu& gpu);
// What a prefill task waits for: clocks that its key blocks do not explain, and the share of its products' time at
// peak rate that nothing else on the SM fills.
struct PrefillWaits {
  double task_clocks = 0, products = 1;
  double score_clocks = 0;  // of a score, that no product hides
};
PrefillWaits prefill_waits(AttentionAlgorithm resolved, const Context& context, const Gpu& gpu);

// Kernels whose waits are known per score, in clocks of the SM that concurrent CTAs share (Launch::serial_steps).
struct LoopQuestion {
  AttentionAlgorithm algorithm = AttentionAlgorithm::fa2;  // resolved
  bool backward = false, window = false;
  Count dim = 0;     // of a head, the larger of the two
  int compiled = 0;  // as the kernel has it
};
// Empty for the others. `tiles` counts the whole launch: the clocks of the first tile, which later ones hide, are
// spread over those of an SM.
std::optional<PrefillWaits> loop_waits(const LoopQuestion& question, Count tiles, const Gpu& gpu);

// Share of the tensor pipe's rate that the instructions of the kernel reach: mma.sync on cards that are built for
// asynchronous products.
double instruction_share(AttentionAlgorithm resolved, const Gpu& gpu);

// The smallest power of two that holds this many rows, within [least, most].
int rows_up_to(Count rows, Count least, Count most);

// CTAs that share the keys of one tile; `tiles` counts all requests and heads.
int decoder_splits(Decoder decoder, const DecodeQuestion& question, Count tiles, const Gpu& gpu);

}  // namespace tilecast
