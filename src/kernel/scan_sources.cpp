#include "kernel/scan_sources.h"

#include <algorithm>
#include <array>

namespace tilecast {
namespace {

using Kind = ScanKind;
using Phase = ScanPhase;
constexpr std::array kSources = {
    ScanSource{"causal_conv1d_fn", Kind::conv1d, Phase::context},
    ScanSource{"causal_conv1d_cuda", Kind::conv1d, Phase::context},
    ScanSource{"causal_conv1d_fn_qkv3", Kind::conv1d, Phase::context, false, 3},
    ScanSource{"causal_conv1d_update", Kind::conv1d, Phase::generation},
    ScanSource{"chunk_gated_delta_rule", Kind::chunk_gated_delta, Phase::context},
    ScanSource{"chunk_gated_delta_rule_triton", Kind::chunk_gated_delta, Phase::context},
    ScanSource{"chunk_gated_delta_rule_flashinfer", Kind::chunk_gated_delta, Phase::context, true},
    ScanSource{"fused_recurrent_gated_delta_rule", Kind::recurrent_gated_delta, Phase::generation},
    ScanSource{"fused_recurrent_gated_delta_rule_packed_decode", Kind::recurrent_gated_delta, Phase::generation},
    ScanSource{"chunk_kda", Kind::chunk_kda, Phase::context},
    ScanSource{"chunk_kda_with_fused_gate", Kind::chunk_kda, Phase::context},
    ScanSource{"flashkda_fwd", Kind::chunk_kda, Phase::context, true},
    ScanSource{"fused_recurrent_kda", Kind::recurrent_kda, Phase::verify},
    ScanSource{"fused_recurrent_kda_packed_decode", Kind::recurrent_kda, Phase::generation},
    ScanSource{"fused_sigmoid_gating_delta_rule_update", Kind::recurrent_kda, Phase::verify},
    ScanSource{"fused_kda_decode", Kind::fused_kda_decode, Phase::generation},
    ScanSource{"kda_fused_decode", Kind::fused_kda_decode, Phase::generation},
    ScanSource{"fused_kda_decode_mtp_dspark", Kind::fused_kda_decode, Phase::verify},
};

}  // namespace

const ScanSource* scan_source(std::string_view name) {
  const auto* const found =
      std::find_if(kSources.begin(), kSources.end(), [&](const auto& s) { return s.name == name; });
  return found == kSources.end() ? nullptr : found;
}

int fit_of(const ScanSource& source, const Scan& shape) {
  if (source.kind != shape.kind) return 0;
  const bool whole = source.phase == ScanPhase::context;
  // Another form is another kernel, with other stages; another phase at least walks the state the same way. What comes
  // first weighs more than all that follow.
  int fit = 1;
  for (const bool same : {source.fused == shape.fused, whole == (shape.phase == ScanPhase::context),
                          source.phase == shape.phase, source.convolutions == shape.convolutions})
    fit += fit + (same ? 1 : 0);
  return fit;
}

}  // namespace tilecast
