// Prefill of multi-head latent attention: keys and values are first expanded from the latent, which makes it attention
// with as many key heads as query heads and keys wider than values.
#pragma once

#include <vector>

#include "kernel/attention.h"
#include "kernel/context.h"
#include "kernel/fields.h"
#include "kernel/plan.h"
#include "tilecast/result.h"

namespace tilecast {

struct MlaPrefill {
  static constexpr FamilyInfo kFamily{"mla_prefill",
                                      "multi-head latent attention, prefill (DeepSeek dimensions by default)",
                                      "--batch 1 --q-len 4096 --heads 128"};
  Count batch = 1;
  Count q_len = 0, kv_len = 0;
  Count heads = 0;
  Count nope_dim = 128, rope_dim = 64, v_dim = 128;
  std::vector<Count> lens, kv_lens;
  AttentionAlgorithm algorithm = AttentionAlgorithm::automatic;
  CacheType kv_dtype = CacheType::same;

  template <class Self, class Visit>
  static void fields(Self& s, Visit&& visit) {
    visit("batch", s.batch, "requests (default 1)");
    visit("q-len", s.q_len, "queries of a request; needed unless lens is given");
    visit("kv-len", s.kv_len, "keys of a request, its queries' own included (default q-len)");
    visit("heads", s.heads, "heads on this GPU", Need::required);
    visit("nope-dim", s.nope_dim, "dimension of a head without position (default 128)");
    visit("rope-dim", s.rope_dim, "dimension of a head with rotary position (default 64)");
    visit("v-dim", s.v_dim, "dimension of a value head (default 128)");
    visit("lens", s.lens, "queries of each request, where they differ: 128,4x512");
    visit("kv-lens", s.kv_lens, "keys of each request, where they differ");
    visit("algorithm", s.algorithm, "whose kernel (default auto: fa3 on Hopper, fa2 before it)");
    visit("kv-dtype", s.kv_dtype, "type of the cache (default same as the queries)");
  }
  Status check() const;
  AttentionHeads geometry() const { return {heads, heads, nope_dim + rope_dim, v_dim}; }
  std::vector<Lengths> lengths() const { return gather_lengths(batch, q_len, kv_len, lens, kv_lens); }
};

Result<Plan> plan(const MlaPrefill& shape, const Format& format, const Gpu& gpu, const Context& context);

}  // namespace tilecast
