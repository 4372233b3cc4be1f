#include "kernel/attention_prefill.h"

#include "kernel/flash_forward.h"

namespace tilecast {

AttentionHeads AttentionPrefill::geometry() const {
  return {heads, kv_heads > 0 ? kv_heads : heads, head_dim, v_head_dim > 0 ? v_head_dim : head_dim};
}

Status AttentionPrefill::check() const {
  if (auto fit = check_heads(geometry()); !fit) return fit;
  if (auto fit = check_lists(batch, lens, kv_lens); !fit) return fit;
  return check_lengths(lengths(), mask, window, geometry());
}

Result<Plan> plan(const AttentionPrefill& s, const Format& format, const Gpu& gpu, const Context& context) {
  ForwardProblem problem{"attention", s.geometry(), s.lengths(), s.mask, s.window, s.algorithm, s.kv_dtype};
  problem.stores_keys = s.mask == AttentionMask::causal;  // encoders have no cache
  return plan_forward(problem, format, gpu, context);
}

}  // namespace tilecast
