#include "kernel/attention_decode.h"

#include "kernel/flash_forward.h"

namespace tilecast {

AttentionHeads AttentionDecode::geometry() const {
  return {heads, kv_heads > 0 ? kv_heads : heads, head_dim, head_dim};
}

Status AttentionDecode::check() const {
  if (auto fit = check_heads(geometry()); !fit) return fit;
  if (auto fit = check_lists(batch, {}, lens); !fit) return fit;
  if (lens.empty() && kv_len == 0) return field_error("kv-len", "is missing", "give kv-len, or lens for each request");
  return check_lengths(lengths(), AttentionMask::causal, window, geometry());
}

Result<Plan> plan(const AttentionDecode& s, const Format& format, const Gpu& gpu, const Context& context) {
  return plan_forward({"attention_decode", s.geometry(), s.lengths(), AttentionMask::causal,
                       honours_window(context, s.window) ? s.window : 0, s.algorithm, s.kv_dtype, s.page_size, true},
                      format, gpu, context);
}

}  // namespace tilecast
