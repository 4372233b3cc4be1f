// Attention of many queries at once: prefill of a prompt or a chunk of it, encoders, training's forward pass.
#pragma once

#include <vector>

#include "kernel/attention.h"
#include "kernel/context.h"
#include "kernel/fields.h"
#include "kernel/plan.h"
#include "tilecast/result.h"

namespace tilecast {

struct AttentionPrefill {
  static constexpr FamilyInfo kFamily{"attention_prefill", "attention of many queries (FlashAttention 2, 3; Blackwell)",
                                      "--batch 1 --q-len 8192 --heads 32 --kv-heads 8 --head-dim 128"};
  Count batch = 1;
  Count q_len = 0, kv_len = 0;
  Count heads = 0, kv_heads = 0;
  Count head_dim = 128, v_head_dim = 0;
  Count window = 0;
  AttentionMask mask = AttentionMask::causal;
  std::vector<Count> lens, kv_lens;
  CacheType kv_dtype = CacheType::same;
  AttentionAlgorithm algorithm = AttentionAlgorithm::automatic;

  template <class Self, class Visit>
  static void fields(Self& s, Visit&& visit) {
    shared_fields(s, visit);
    visit("kv-dtype", s.kv_dtype, "type of keys and values (default same as the queries)");
  }
  // Fields that the gradients share.
  template <class Self, class Visit>
  static void shared_fields(Self& s, Visit&& visit) {
    visit("batch", s.batch, "requests (default 1)");
    visit("q-len", s.q_len, "queries of a request; needed unless lens is given");
    visit("kv-len", s.kv_len, "keys of a request, its queries' own included (default q-len; more: a cached prefix)");
    visit("heads", s.heads, "query heads", Need::required);
    visit("kv-heads", s.kv_heads, "key and value heads (default heads)");
    visit("head-dim", s.head_dim, "dimension of a query and key head (default 128)");
    visit("v-head-dim", s.v_head_dim, "dimension of a value head (default head-dim)");
    visit("window", s.window, "keys a query sees at most, itself included (default 0: all)");
    visit("mask", s.mask, "causal or full (default causal)");
    visit("lens", s.lens, "queries of each request, where they differ: 128,4x512");
    visit("kv-lens", s.kv_lens, "keys of each request, where they differ");
    visit("algorithm", s.algorithm, "whose kernel (default auto: fa3 on Hopper, fa2 before it)");
  }
  Status check() const;
  AttentionHeads geometry() const;
  std::vector<Lengths> lengths() const { return gather_lengths(batch, q_len, kv_len, lens, kv_lens); }
};

Result<Plan> plan(const AttentionPrefill& shape, const Format& format, const Gpu& gpu, const Context& context);

}  // namespace tilecast
