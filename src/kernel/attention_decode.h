// Attention of one new token (or a few) per request against its cache.
#pragma once

#include <vector>

#include "kernel/attention.h"
#include "kernel/context.h"
#include "kernel/fields.h"
#include "kernel/plan.h"
#include "tilecast/result.h"

namespace tilecast {

struct AttentionDecode {
  static constexpr FamilyInfo kFamily{"attention_decode",
                                      "attention of new tokens against a paged cache, keys split over CTAs",
                                      "--batch 16 --kv-len 4096 --heads 32 --kv-heads 8 --head-dim 128"};
  Count batch = 1;
  Count kv_len = 0;
  Count heads = 0, kv_heads = 0;
  Count head_dim = 128;
  Count window = 0;
  Count q_len = 1;
  std::vector<Count> lens;
  CacheType kv_dtype = CacheType::same;
  Count page_size = 16;
  AttentionAlgorithm algorithm = AttentionAlgorithm::automatic;

  template <class Self, class Visit>
  static void fields(Self& s, Visit&& visit) {
    visit("batch", s.batch, "requests (default 1)");
    visit("kv-len", s.kv_len, "keys of a request, the new tokens' own included; needed unless lens is given");
    visit("heads", s.heads, "query heads", Need::required);
    visit("kv-heads", s.kv_heads, "key and value heads (default heads)");
    visit("head-dim", s.head_dim, "dimension of a head (default 128)");
    visit("window", s.window, "keys a query sees at most, itself included (default 0: all)");
    visit("q-len", s.q_len, "new tokens of a request (default 1; more: speculative decoding)");
    visit("lens", s.lens, "keys of each request, where they differ: 128,4x512");
    visit("kv-dtype", s.kv_dtype, "type of the cache (default same as the queries)");
    visit("page-size", s.page_size, "tokens of a page of the cache; 0: contiguous (default 16)");
    visit("algorithm", s.algorithm, "whose kernel (default auto: fa3 on Hopper, fa2 before it)");
  }
  Status check() const;
  AttentionHeads geometry() const;
  std::vector<Lengths> lengths() const { return gather_lengths(batch, q_len, kv_len, {}, lens); }
};

Result<Plan> plan(const AttentionDecode& shape, const Format& format, const Gpu& gpu, const Context& context);

}  // namespace tilecast
