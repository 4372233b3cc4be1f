// Forward attention as the flash kernels run it: query tiles that walk their visible keys, split over CTAs where there
// are too few tiles. Prefill and decode are this with different lengths.
#pragma once

#include "kernel/attention_sources.h"
#include "kernel/flash_tile.h"
#include "kernel/format.h"

namespace tilecast {

struct ForwardProblem {
  std::string_view name;
  AttentionHeads heads;
  std::vector<Lengths> lengths;
  AttentionMask mask = AttentionMask::causal;
  Count window = 0;
  AttentionAlgorithm algorithm = AttentionAlgorithm::automatic;
  CacheType cache = CacheType::same;
  Count page_size = 0;  // of a paged cache; 0: contiguous
  bool decode = false;
  bool stores_keys = false;  // engines put keys and values into their cache first
};

// Bytes of q, k and v, and the result in this format; refused where no attention kernel takes the format.
Result<AttentionBytes> attention_bytes(const Format& format, CacheType cache);

// The products of decode. Kernels that read an fp8 cache seem to quantise the queries too and multiply in fp8
// where the hardware can: inferred from 19 of 1,448 rows of TRT-LLM's latent decode on B200, which beat the bf16 peak.
Result<MathPath> decode_math(const Format& format, CacheType cache, const Gpu& gpu);

// Exponentials no kernel avoids: all on the special-function unit up to Hopper; none is certain on data-centre
// Blackwell, where kernels compute them as polynomials on the FMA pipe as they see fit.
Ops required_exponentials(double pairs, const Gpu& gpu);

Result<Plan> plan_forward(const ForwardProblem& problem, const Format& format, const Gpu& gpu, const Context& context);

// Joins the partial results of split keys: FlashAttention's combine kernel; `steps` loads that depend on each other.
Launch combine_launch(double rows, Count v_dim, int splits, const AttentionBytes& element, double steps = 1);

}  // namespace tilecast
