#include "kernel/mla_prefill.h"

#include "kernel/flash_forward.h"

namespace tilecast {

Status MlaPrefill::check() const {
  if (auto fit = check_heads(geometry()); !fit) return fit;
  if (auto fit = check_lists(batch, lens, kv_lens); !fit) return fit;
  return check_lengths(lengths(), AttentionMask::causal, 0, geometry());
}

Result<Plan> plan(const MlaPrefill& s, const Format& format, const Gpu& gpu, const Context& context) {
  return plan_forward({"mla_prefill", s.geometry(), s.lengths(), AttentionMask::causal, 0, s.algorithm}, format, gpu,
                      context);
}

}  // namespace tilecast
