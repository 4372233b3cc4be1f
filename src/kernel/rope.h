// Rotary position embedding of queries and keys, in place, as vLLM launches it.
#pragma once

#include "kernel/context.h"
#include "kernel/fields.h"
#include "kernel/plan.h"
#include "tilecast/result.h"

namespace tilecast {

struct Rope {
  static constexpr FamilyInfo kFamily{"rope", "rotary embedding of queries and keys, in place",
                                      "--tokens 4096 --heads 32 --kv-heads 8 --head-dim 128"};
  Count tokens = 0;
  Count heads = 0;
  Count kv_heads = 0;  // 0: as many as heads
  Count head_dim = 128;

  template <class Self, class Visit>
  static void fields(Self& s, Visit&& visit) {
    visit("tokens", s.tokens, "tokens of all sequences", Need::required);
    visit("heads", s.heads, "query heads", Need::required);
    visit("kv-heads", s.kv_heads, "key heads (default: as many as query heads)");
    visit("head-dim", s.head_dim, "elements of a head, all rotated (default 128)");
  }
  Status check() const;
};

Result<Plan> plan(const Rope& shape, const Format& format, const Gpu& gpu, const Context& context);

}  // namespace tilecast
