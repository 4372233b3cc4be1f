#include "model/graph.h"

#include <array>
#include <numeric>

#include "kernel/shapes.h"
#include "support/arithmetic.h"

namespace tilecast {
namespace {

double product_flops(double batch, Count m, Count n, Count k) { return 2 * batch * real(m) * real(n) * real(k); }

// Scores and weighted values over the pairs the mask leaves.
double attention_flops(const AttentionHeads& heads, double pairs) {
  return 2 * pairs * real(heads.query) * real(heads.qk_dim + heads.v_dim);
}

double flops(const Gemm& s) { return product_flops(1, s.m, s.n, s.k); }
double flops(const Bmm& s) { return product_flops(real(s.batch), s.m, s.n, s.k); }

// Products with the padding's zeros are counted, as is customary for convolutions (ResNet-50: 4.09 G multiply-adds).
// Both gradients take as many as the forward pass.
double flops(const Conv2d& s) {
  const auto v = s.vertical(), h = s.horizontal();
  const double results = real(s.batch) * real(v.results()) * real(h.results());
  return product_flops(results, s.out_channels, s.in_channels / s.groups, v.taps * h.taps);
}

double flops(const AttentionPrefill& s) {
  return attention_flops(s.geometry(), total_pairs(s.lengths(), s.mask, s.window));
}
double flops(const AttentionDecode& s) {
  return attention_flops(s.geometry(), total_pairs(s.lengths(), AttentionMask::causal, s.window));
}
// dV, dP, dQ and dK are four products where the forward pass has two; recomputing the scores is the kernel's choice and
// does not count as model FLOPs.
double flops(const AttentionBackward& s) { return 2 * flops(s.forward); }
double flops(const MlaPrefill& s) {
  return attention_flops(s.geometry(), total_pairs(s.lengths(), AttentionMask::causal, 0));
}
double flops(const MlaDecode& s) {
  return attention_flops(s.geometry(), total_pairs(s.lengths(), AttentionMask::causal, 0));
}

// Of one rank: its experts' even share of the routed tokens, unless their loads are given.
double flops(const Moe& s) {
  const double routed = s.distribution == ExpertDistribution::given
                            ? real(std::accumulate(s.counts.begin(), s.counts.end(), Count{0}))
                            : real(s.tokens) * real(s.topk) * real(s.local_experts()) / real(s.experts);
  const Count up = s.pass == MoePass::down ? 0 : s.gated ? 2 : 1, down = s.pass == MoePass::up ? 0 : 1;
  return product_flops(routed, s.hidden, s.local_inter(), up + down);
}

// What the recurrence itself multiplies, whichever form computes it: a delta rule recalls (S k), corrects (v k^T) and
// reads (S q) a state of key x value elements per token and head; Mamba-2 only writes and reads.
double flops(const Scan& s) {
  const double tokens = real(s.batch) * real(s.seq_len);
  const Count key_heads = s.key_heads > 0 ? s.key_heads : s.heads, key = s.key_dim > 0 ? s.key_dim : s.head_dim;
  const Count channels = s.channels > 0 ? s.channels : 2 * key_heads * key + s.heads * s.head_dim;
  const double convolution = 2 * tokens * real(channels) * real(s.conv_width);
  const double state_products = 2 * tokens * real(s.heads) * real(key) * real(s.head_dim);
  switch (s.kind) {
    case ScanKind::conv1d: return convolution;
    case ScanKind::ssd_chunk:
    case ScanKind::state_update: return 2 * state_products;
    case ScanKind::fused_kda_decode: return convolution + 3 * state_products;
    case ScanKind::chunk_gated_delta:
    case ScanKind::recurrent_gated_delta:
    case ScanKind::chunk_kda:
    case ScanKind::recurrent_kda: return 3 * state_products;
  }
  return 0;
}

double flops(const Custom& s) { return s.tensor_ops; }

// Norms, pointwise kernels and movement multiply no matrices.
template <class S>
double flops(const S&) {
  return 0;
}

OpClass pointwise_class(PointwiseOp op) {
  switch (op) {
    case PointwiseOp::relu:
    case PointwiseOp::gelu:
    case PointwiseOp::silu:
    case PointwiseOp::tanh: return OpClass::activation;
    case PointwiseOp::copy: return OpClass::movement;
    case PointwiseOp::add:
    case PointwiseOp::mul:
    case PointwiseOp::div:
    case PointwiseOp::pow:
    case PointwiseOp::square:
    case PointwiseOp::exp: return OpClass::pointwise;
  }
  return OpClass::pointwise;
}

struct Classify {
  Role role;
  OpClass operator()(const Gemm&) const { return is_head(role) ? OpClass::head : OpClass::linear; }
  // Products of activations are attention's, written out.
  OpClass operator()(const Bmm&) const { return OpClass::attention; }
  OpClass operator()(const Softmax&) const { return OpClass::attention; }
  OpClass operator()(const AttentionPrefill&) const { return OpClass::attention; }
  OpClass operator()(const AttentionDecode&) const { return OpClass::attention; }
  OpClass operator()(const AttentionBackward&) const { return OpClass::attention; }
  OpClass operator()(const MlaPrefill&) const { return OpClass::attention; }
  OpClass operator()(const MlaDecode&) const { return OpClass::attention; }
  OpClass operator()(const Conv2d&) const { return OpClass::convolution; }
  OpClass operator()(const Moe&) const { return OpClass::experts; }
  OpClass operator()(const RmsNorm&) const { return OpClass::norm; }
  OpClass operator()(const LayerNorm&) const { return OpClass::norm; }
  OpClass operator()(const Elementwise& s) const { return pointwise_class(s.op); }
  OpClass operator()(const GatedActivation&) const { return OpClass::activation; }
  OpClass operator()(const Reduction&) const { return OpClass::pointwise; }
  OpClass operator()(const Rope&) const { return OpClass::pointwise; }
  OpClass operator()(const Copy&) const { return OpClass::movement; }
  OpClass operator()(const Quantize&) const { return OpClass::movement; }
  OpClass operator()(const KvWrite&) const { return OpClass::movement; }
  OpClass operator()(const Embedding&) const { return OpClass::embedding; }
  OpClass operator()(const CrossEntropy&) const { return OpClass::loss; }
  OpClass operator()(const Optimizer&) const { return OpClass::optimizer; }
  OpClass operator()(const Sampling&) const { return OpClass::head; }
  OpClass operator()(const Scan&) const { return OpClass::scan; }
  OpClass operator()(const Custom&) const { return OpClass::other; }
};

}  // namespace

Count parameters(const Graph& graph) {
  Count sum = 0;
  for (const Section& section : graph.sections) {
    Count once = 0;
    for (const Operator& op : section.operators) once += op.weights.total();
    sum += section.repeats * once;
  }
  return sum;
}

Count trained_parameters(const Graph& graph) {
  Count sum = 0;
  for (const Section& section : graph.sections)
    for (const Operator& op : section.operators) sum += section.repeats * op.weights.trained();
  return sum;
}

double model_flops(const Operator& op) {
  return visit([](const auto& shape) { return flops(shape); }, op.shape);
}

double model_flops(const Graph& graph) {
  double sum = 0;
  for (const Section& section : graph.sections)
    for (const Operator& op : section.operators) sum += real(section.repeats) * real(op.times) * model_flops(op);
  return sum;
}

Section emptied(const Section& s) {
  return {s.name, s.repeats, s.pass, s.tensors, {}, s.part, s.recomputed, s.reference, s.forward, s.unquantised};
}

std::string_view name_of(Pass p) {
  return p == Pass::forward ? "forward" : p == Pass::backward ? "backward" : "optimizer";
}

std::string_view name_of(OpClass c) {
  constexpr std::array<std::string_view, 14> kNames = {"linear", "attention",  "experts",   "convolution", "scan",
                                                       "norm",   "activation", "pointwise", "movement",    "embedding",
                                                       "head",   "loss",       "optimizer", "other"};
  return kNames[static_cast<std::size_t>(c)];
}

OpClass class_of(const Operator& op) { return visit(Classify{op.role}, op.shape); }

}  // namespace tilecast
