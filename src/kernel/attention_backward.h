// Gradients of attention: dQ, dK and dV from the forward pass's inputs, its result and log-sums.
#pragma once

#include "kernel/attention_prefill.h"

namespace tilecast {

struct AttentionBackward {
  static constexpr FamilyInfo kFamily{"attention_backward", "gradients of attention (FlashAttention 2, 3; Blackwell)",
                                      "--batch 4 --q-len 4096 --heads 32 --kv-heads 8 --head-dim 128"};
  AttentionPrefill forward;  // the pass whose gradients these are

  template <class Self, class Visit>
  static void fields(Self& s, Visit&& visit) {
    AttentionPrefill::shared_fields(s.forward, visit);
  }
  Status check() const { return forward.check(); }
};

Result<Plan> plan(const AttentionBackward& shape, const Format& format, const Gpu& gpu, const Context& context);

}  // namespace tilecast
