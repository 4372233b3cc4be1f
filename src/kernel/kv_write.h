// Writing new keys and values into the paged cache.
#pragma once

#include "kernel/context.h"
#include "kernel/fields.h"
#include "kernel/plan.h"
#include "tilecast/result.h"

namespace tilecast {

struct KvWrite {
  static constexpr FamilyInfo kFamily{"kv_write", "new keys and values into the paged cache (its format from --dtype)",
                                      "--tokens 256 --kv-heads 8 --head-dim 128"};
  Count tokens = 0;
  Count kv_heads = 0;
  Count head_dim = 128;

  template <class Self, class Visit>
  static void fields(Self& s, Visit&& visit) {
    visit("tokens", s.tokens, "tokens written", Need::required);
    visit("kv-heads", s.kv_heads, "key and value heads", Need::required);
    visit("head-dim", s.head_dim, "elements of a head (default 128)");
  }
  Status check() const;
};

Result<Plan> plan(const KvWrite& shape, const Format& format, const Gpu& gpu, const Context& context);

}  // namespace tilecast
