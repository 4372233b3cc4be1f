// Decode of multi-head latent attention in its absorbed form: all heads are rows against one latent per token, which is
// key (latent and rotary part) and value (latent) at once.
#pragma once

#include <vector>

#include "kernel/attention.h"
#include "kernel/context.h"
#include "kernel/fields.h"
#include "kernel/plan.h"
#include "tilecast/result.h"

namespace tilecast {

struct MlaDecode {
  static constexpr FamilyInfo kFamily{"mla_decode",
                                      "multi-head latent attention, absorbed decode (DeepSeek dimensions by default)",
                                      "--batch 16 --kv-len 4096 --heads 128"};
  Count batch = 1;
  Count kv_len = 0;
  Count heads = 0;
  Count kv_lora = 512, rope_dim = 64;
  Count q_len = 1;
  std::vector<Count> lens;
  CacheType kv_dtype = CacheType::same;

  template <class Self, class Visit>
  static void fields(Self& s, Visit&& visit) {
    visit("batch", s.batch, "requests (default 1)");
    visit("kv-len", s.kv_len, "tokens of a request, the new ones included; needed unless lens is given");
    visit("heads", s.heads, "heads on this GPU", Need::required);
    visit("kv-lora", s.kv_lora, "dimension of the latent (default 512)");
    visit("rope-dim", s.rope_dim, "dimension with rotary position (default 64)");
    visit("q-len", s.q_len, "new tokens of a request (default 1)");
    visit("lens", s.lens, "tokens of each request, where they differ: 128,4x512");
    visit("kv-dtype", s.kv_dtype, "type of the cache (default same as the queries)");
  }
  Status check() const;
  AttentionHeads geometry() const { return {heads, 1, kv_lora + rope_dim, kv_lora}; }
  std::vector<Lengths> lengths() const { return gather_lengths(batch, q_len, kv_len, {}, lens); }
};

Result<Plan> plan(const MlaDecode& shape, const Format& format, const Gpu& gpu, const Context& context);

}  // namespace tilecast
