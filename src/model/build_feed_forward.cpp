// Norms, feed-forward blocks, mixtures of experts and linear attention as operators.
#include <algorithm>
#include <cmath>

#include "kernel/elementwise.h"
#include "kernel/gated_activation.h"
#include "kernel/layernorm.h"
#include "kernel/moe.h"
#include "kernel/rmsnorm.h"
#include "kernel/scan.h"
#include "kernel/softmax.h"
#include "model/build_parts.h"

namespace tilecast {
namespace {

PointwiseOp pointwise_of(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::relu: return PointwiseOp::relu;
    case ActivationKind::relu_squared: return PointwiseOp::square;
    case ActivationKind::gelu:
    case ActivationKind::gelu_tanh: return PointwiseOp::gelu;
    case ActivationKind::silu: return PointwiseOp::silu;
  }
  return PointwiseOp::gelu;
}

}  // namespace

int build_norm(SectionBuilder& b, Role role, const std::string& name, int x, Count rows, const StackSpec& stack) {
  const Count cols = b.elements(x) / rows;
  if (stack.norm == NormKind::none) return x;
  if (stack.norm == NormKind::layer) {
    LayerNorm norm;
    norm.rows = rows, norm.cols = cols;
    const Count weights = !stack.norm_scale ? 0 : stack.norm_bias ? 2 * cols : cols;
    return b.add(role, name, norm, {x}, rows * cols, {.vector = weights});
  }
  RmsNorm norm;
  norm.rows = rows, norm.cols = cols;
  return b.add(role, name, norm, {x}, rows * cols, {.vector = cols});
}

int build_mlp(SectionBuilder& b, const std::string& name, const MlpSpec& m, int x, Count rows, Count hidden,
              const MlpRoles& roles) {
  int inner = 0;
  if (m.gated) {
    const int gate = b.linear(roles.gate, name + ".gate", x, rows, hidden, m.inter, m.bias);
    const int up = b.linear(roles.up, name + ".up", x, rows, hidden, m.inter, m.bias);
    GatedActivation act;
    act.rows = rows, act.cols = m.inter;
    act.act = m.activation == ActivationKind::silu ? Gate::silu : Gate::gelu;
    inner = b.add(roles.activation, name + ".act", act, {gate, up}, rows * m.inter);
  } else {
    const int up = b.linear(roles.up, name + ".up", x, rows, hidden, m.inter, m.bias);
    inner = b.pointwise(roles.activation, name + ".act", pointwise_of(m.activation), {up}, rows * m.inter);
    if (m.activation == ActivationKind::gelu_tanh) b.last().spelling = Spelling::gelu_new;
  }
  return b.linear(roles.down, name + ".down", inner, rows, m.inter, hidden, m.bias);
}

int build_moe(SectionBuilder& b, const MoeSpec& m, int x, const StackContext& at) {
  const Count rows = at.tokens, hidden = at.stack.hidden;
  const int scores = b.linear(Role::router, "moe.router", x, rows, hidden, m.experts, false);
  if (m.router_bias) b.last().weights.vector += m.experts;
  Softmax choose;  // and the top-k, which engines fuse with it
  choose.rows = rows, choose.cols = m.experts;
  const int chosen = b.add(Role::expert_choice, "moe.choose", choose, {scores}, rows * m.topk);
  Moe moe;
  moe.tokens = m.capacity > 0 ? std::min(rows, m.capacity * m.experts * at.workload.sequences()) : rows;
  moe.hidden = hidden, moe.inter = m.inter, moe.experts = m.experts, moe.topk = m.topk;
  moe.gated = m.gated;
  moe.ep = m.ep, moe.tp = m.tp;
  moe.tokens = std::max<Count>(1, static_cast<Count>(std::ceil(static_cast<double>(moe.tokens) * m.gathered)));
  const Count matrices = m.gated ? 3 : 2;
  OwnedWeights weights{.matrix = moe.local_experts() * matrices * hidden * moe.local_inter()};
  if (m.bias) weights.vector = moe.local_experts() * ((matrices - 1) * moe.local_inter() + hidden);
  int out = b.add(Role::experts, "moe.experts", moe, {x, chosen}, rows * hidden, weights);
  if (m.shared_inter > 0) {
    const MlpRoles roles{Role::shared_expert, Role::shared_expert, Role::shared_expert, Role::shared_expert};
    int shared = build_mlp(b, "moe.shared", {m.shared_inter, m.gated, m.activation, false}, x, rows, hidden, roles);
    if (m.shared_gate) {
      const int gate = b.linear(Role::shared_gate, "moe.shared_gate", x, rows, hidden, 1, false);
      shared = b.pointwise(Role::shared_scale, "moe.shared_scale", PointwiseOp::mul, {shared, gate}, rows * hidden);
    }
    out = b.pointwise(Role::expert_sum, "moe.sum", PointwiseOp::add, {out, shared}, rows * hidden);
  }
  return out;
}

namespace {

// Several tokens a request at once are proposed ones: kernels that check them keep the state after each, to go on from
// the last that is accepted (sglang/srt/layers/attention/hybrid_linear_attn_backend.py, intermediate_states_buffer), so
// states are read and written for each as for a request.
Scan scan_shape(const ScanSpec& s, ScanKind kind, const Workload& workload, bool decode) {
  Scan shape;
  shape.kind = kind;
  shape.phase = decode ? ScanPhase::generation : ScanPhase::context;
  shape.batch = decode ? workload.tokens() : workload.sequences();
  shape.seq_len = decode ? 1 : std::max<Count>(1, workload.tokens() / std::max<Count>(1, shape.batch));
  shape.heads = s.heads, shape.head_dim = s.head_dim, shape.key_heads = s.key_heads, shape.key_dim = s.key_dim;
  shape.conv_width = s.conv_width;
  return shape;
}

ScanKind rule_kind(ScanRule rule, bool decode) {
  switch (rule) {
    case ScanRule::gated_delta: return decode ? ScanKind::recurrent_gated_delta : ScanKind::chunk_gated_delta;
    case ScanRule::kda: return decode ? ScanKind::recurrent_kda : ScanKind::chunk_kda;
    case ScanRule::mamba2: return decode ? ScanKind::state_update : ScanKind::ssd_chunk;
  }
  return ScanKind::chunk_gated_delta;
}

}  // namespace

// Qwen3-Next's block (transformers modeling_qwen3_next.py) and Mamba-2's share one shape: projections to keys, queries,
// values, an output gate and per-head gates; a short convolution; the recurrence; a gated norm; the output projection.
// Kimi Linear's gate and decays (one decay per key channel) pass through a bottleneck as wide as a head.
int build_scan(SectionBuilder& b, const ScanSpec& s, int x, const StackContext& at) {
  const Count tokens = at.tokens, hidden = at.stack.hidden;
  const Count values = s.heads * s.head_dim, keys = s.key_heads * s.key_dim;
  const bool decode = at.workload.mode == Mode::decode;
  const Count mixed = values + 2 * keys;  // what the convolution runs over
  int inner = 0, gate = 0;
  if (s.rule == ScanRule::mamba2) {
    inner = gate = b.linear(Role::scan_in, "scan.in", x, tokens, hidden, mixed + values + s.heads, s.bias);
  } else if (s.rule == ScanRule::kda) {
    inner = b.linear(Role::scan_in, "scan.in", x, tokens, hidden, mixed, false);
    b.linear(Role::scan_gates, "scan.gates", x, tokens, hidden, s.heads, false);
    const int decay = b.linear(Role::scan_bottleneck, "scan.decay_down", x, tokens, hidden, s.head_dim, false);
    b.linear(Role::scan_spread, "scan.decay_up", decay, tokens, s.head_dim, keys, false);
    gate = b.linear(Role::scan_bottleneck, "scan.gate_down", x, tokens, hidden, s.head_dim, false);
    gate = b.linear(Role::scan_spread, "scan.gate_up", gate, tokens, s.head_dim, values, false);
  } else if (s.apart) {
    inner = b.linear(Role::scan_in, "scan.in", x, tokens, hidden, mixed, false);
    gate = b.linear(Role::scan_in, "scan.in_gate", x, tokens, hidden, values, false);
    b.linear(Role::scan_gates, "scan.gates", x, tokens, hidden, s.heads, false);
    b.linear(Role::scan_gates, "scan.decays", x, tokens, hidden, s.heads, false);
  } else {
    inner = gate = b.linear(Role::scan_in, "scan.in", x, tokens, hidden, mixed + values, false);
    b.linear(Role::scan_gates, "scan.gates", x, tokens, hidden, 2 * s.heads, false);
  }
  Scan conv = scan_shape(s, ScanKind::conv1d, at.workload, decode);
  int out = b.add(Role::scan_convolution, "scan.conv", conv, {inner}, tokens * mixed,
                  {.vector = mixed * s.conv_width + (s.conv_bias ? mixed : 0)});
  // Mamba-2 has a decay, a skip and a time bias per head; the delta rule a decay and a time bias, Kimi's per channel.
  const Count scales = s.rule == ScanRule::mamba2 ? 3 * s.heads
                       : s.rule == ScanRule::kda  ? s.heads + keys
                                                  : 2 * s.heads;
  out = b.add(Role::scan_rule, "scan.rule", scan_shape(s, rule_kind(s.rule, decode), at.workload, decode), {out},
              tokens * values, {.vector = scales});
  RmsNorm norm;
  norm.rows = s.rule == ScanRule::mamba2 ? tokens : tokens * s.heads;
  norm.cols = s.rule == ScanRule::mamba2 ? values : s.head_dim;
  norm.residual = true;  // the gate is read as well
  out = b.add(Role::scan_norm, "scan.norm", norm, {out, gate}, tokens * values, {.vector = norm.cols});
  return b.linear(Role::scan_out, "scan.out", out, tokens, values, hidden, s.bias);
}

}  // namespace tilecast
