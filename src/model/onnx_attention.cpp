// Attention in one operator: the standard's, Microsoft's three, and what fusion finds; rotary embeddings.
#include <fmt/format.h>

#include <algorithm>

#include "kernel/attention.h"
#include "kernel/attention_decode.h"
#include "kernel/attention_prefill.h"
#include "kernel/elementwise.h"
#include "kernel/gemm.h"
#include "kernel/kv_write.h"
#include "kernel/rope.h"
#include "model/onnx_rules.h"

namespace tilecast {
namespace {

using Sizes = OnnxAttentionSizes;

Error misfit(const OnnxValue& value) {
  return error(fmt::format("'{}' of {} does not fit its heads", value.name, onnx_dims_text(value.dims)));
}

Status check_sizes(const Sizes& s) {
  bool possible = s.kv_heads <= s.heads;
  for (const Count n : {s.batch, s.q_len, s.kv_len, s.heads, s.kv_heads, s.head_dim, s.v_dim})
    possible = possible && n >= 1 && n <= kMostDimension;
  // Nothing computed from these sizes may overflow.
  possible = possible && onnx_elements({s.batch, std::max(s.q_len, s.kv_len), 2 * s.heads, s.head_dim + s.v_dim});
  return possible ? Status(Ok{}) : error("has impossible heads or lengths");
}

// A shape the kernels take: one new token is a decode, many a prefill.
Shape attention_shape(const Sizes& s) {
  if (s.q_len == 1 && s.kv_len > 1 && s.v_dim == s.head_dim) {
    AttentionDecode shape;
    shape.batch = s.batch, shape.kv_len = s.kv_len, shape.page_size = 0;
    shape.heads = s.heads, shape.kv_heads = s.kv_heads, shape.head_dim = s.head_dim, shape.window = s.window;
    return shape;
  }
  AttentionPrefill shape;
  shape.batch = s.batch, shape.q_len = s.q_len, shape.kv_len = s.kv_len;
  shape.heads = s.heads, shape.kv_heads = s.kv_heads;
  shape.head_dim = s.head_dim, shape.v_head_dim = s.v_dim == s.head_dim ? 0 : s.v_dim;
  shape.mask = s.causal && s.kv_len >= s.q_len ? AttentionMask::causal : AttentionMask::full;
  if (shape.mask == AttentionMask::causal) shape.window = s.window;
  return shape;
}

// Queries, keys and values as [batch, length, heads * dim] or [batch, heads, length, dim].
struct Operand {
  Count batch = 0, length = 0, heads = 0, dim = 0;
};
Result<Operand> operand(const OnnxValue& value, Count heads) {
  const std::vector<Count>& d = value.dims;
  if (d.size() == 4) return Operand{d[0], d[2], d[1], d[3]};
  if (d.size() != 3 || heads < 1 || d[2] % heads != 0) return misfit(value);
  return Operand{d[0], d[1], heads, d[2] / heads};
}

Count past_length(const OnnxStep& step, const OnnxNet& net, std::size_t i) {
  if (!step.has(i) || net.value(step.inputs[i]).dims.size() < 2) return 0;
  const std::vector<Count>& dims = net.value(step.inputs[i]).dims;
  return dims[dims.size() - 2];
}

// Where each operator has its inputs, and what its attributes are called.
struct Signature {
  std::string_view op, heads, kv_heads, causal;
  std::size_t past;
};
constexpr Signature kSignatures[] = {
    {"Attention", "q_num_heads", "kv_num_heads", "is_causal", 4},
    {"MultiHeadAttention", "num_heads", "num_heads", "unidirectional", 6},
    {"GroupQueryAttention", "num_heads", "kv_num_heads", "", 3},
};
const Signature& signature_of(std::string_view op) {
  return *std::find_if(std::begin(kSignatures), std::end(kSignatures), [&](const Signature& s) { return s.op == op; });
}

// Microsoft packs queries, keys and values in one tensor where keys and values are absent.
Result<Sizes> packed_sizes(const OnnxValue& q, Count heads, Count kv_heads) {
  const std::vector<Count>& d = q.dims;
  Sizes s;
  s.heads = heads, s.kv_heads = kv_heads;
  if (d.size() == 5 && d[3] == 3) {  // [batch, length, heads, 3, dim]
    s.batch = d[0], s.q_len = s.kv_len = d[1], s.head_dim = s.v_dim = d[4];
    return s;
  }
  const Count all = heads + 2 * kv_heads;
  if (d.size() != 3 || all < 1 || d[2] % all != 0) return misfit(q);
  s.batch = d[0], s.q_len = s.kv_len = d[1], s.head_dim = s.v_dim = d[2] / all;
  return s;
}

Result<Sizes> sizes_of(const OnnxStep& step, const OnnxNet& net) {
  const Signature& is = signature_of(step.op);
  const OnnxNode& node = *step.node;
  const auto value = [&](std::size_t i) -> const OnnxValue& { return net.value(step.inputs[i]); };
  const Count heads = std::clamp<Count>(node.integer(is.heads, 0), 0, kMostDimension);
  const Count kv_heads = std::clamp<Count>(node.integer(is.kv_heads, heads), 0, kMostDimension);
  Sizes s;
  if (!step.has(1) || !step.has(2)) {
    auto packed = packed_sizes(value(0), heads, kv_heads);
    if (!packed) return packed;
    s = *packed;
  } else {
    auto q = operand(value(0), heads), k = operand(value(1), kv_heads), v = operand(value(2), kv_heads);
    for (auto* o : {&q, &k, &v})
      if (!*o) return std::move(*o).error();
    if (k->batch != q->batch || v->length != k->length || k->dim != q->dim) return misfit(value(1));
    s = {q->batch, q->length, k->length, q->heads, k->heads, q->dim, v->dim};
  }
  s.kv_len += past_length(step, net, is.past);
  s.causal = is.causal.empty() || node.integer(is.causal, 0) != 0 || (step.has(3) && value(3).causal);
  s.window = std::max<Count>(0, node.integer("local_window_size", 0));
  if (auto checked = check_sizes(s); !checked) return std::move(checked).error();
  return s;
}

Status infer_attention(OnnxInfer& n) {
  auto s = sizes_of(n.step, n.net());
  if (!s) return std::move(s).error();
  const bool four = n.dims(0).size() == 4;
  const std::vector<Count> cache = {s->batch, s->kv_heads, s->kv_len, s->head_dim};
  std::vector<Count> values = cache;
  values.back() = s->v_dim;
  if (auto key = n.set(1, cache); !key) return key;
  if (auto kept = n.set(2, values); !kept) return kept;
  if (four) return n.set(0, {s->batch, s->heads, s->q_len, s->v_dim});
  return n.set(0, {s->batch, s->q_len, s->heads * s->v_dim});
}

bool present(const OnnxStep& step, std::size_t output) {
  return output < step.outputs.size() && step.outputs[output] >= 0;
}

// Rotation and the cache write, if the operator does them, become separate operators.
Status emit_attention(OnnxLower& lower, const OnnxStep& step, const Sizes& s, std::vector<int> inputs,
                      OwnedWeights weights) {
  const Count tokens = s.batch * s.q_len;
  if (step.node->integer("do_rotary", 0) != 0) {
    Rope rope;
    rope.tokens = tokens, rope.heads = s.heads, rope.kv_heads = s.kv_heads, rope.head_dim = s.head_dim;
    auto rotated = lower.emit_part(step, "rope", rope, inputs, tokens * (s.heads + s.kv_heads) * s.head_dim);
    if (!rotated) return std::move(rotated).error();
    inputs.push_back(*rotated);
  }
  if (step.op != "tilecast.Attention" && present(step, 1)) {
    KvWrite write;
    write.tokens = tokens, write.kv_heads = s.kv_heads, write.head_dim = s.head_dim;
    auto cache = lower.emit_part(step, "kv_write", write, inputs, tokens * s.kv_heads * (s.head_dim + s.v_dim));
    if (!cache) return std::move(cache).error();
    for (std::size_t i = 1; i < step.outputs.size(); ++i)
      if (step.outputs[i] >= 0) lower.bind(step.outputs[i], *cache);
  }
  auto out = lower.emit_part(step, "", attention_shape(s), inputs, lower.out(step).elements(), weights);
  if (!out) return std::move(out).error();
  lower.bind(step.outputs.front(), *out);
  return Ok{};
}

Status lower_attention(OnnxLower& lower, const OnnxStep& step) {
  auto s = step.attention ? Result<Sizes>(*step.attention) : sizes_of(step, lower.net());
  if (!s) return std::move(s).error();
  OwnedWeights weights;
  if (step.op == "MultiHeadAttention" && step.has(3)) lower.own_vector(weights, step.inputs[3]);
  return emit_attention(lower, step, *s, lower.tensors(step), weights);
}

// Microsoft's oldest projects too: input [batch, length, width] by weights [width, 3 * hidden].
Result<Sizes> projected_sizes(const OnnxStep& step, const OnnxNet& net) {
  const std::vector<Count>&x = net.value(step.inputs[0]).dims, &w = net.value(step.inputs[1]).dims;
  const Count heads = step.node->integer("num_heads", 0);
  if (x.size() != 3 || w.size() != 2 || w[0] != x[2] || heads < 1 || heads > w[1] || w[1] % 3 != 0 ||
      w[1] / 3 % heads != 0)
    return error(
        fmt::format("weights of {} do not fit an input of {} and its heads", onnx_dims_text(w), onnx_dims_text(x)));
  const Count dim = w[1] / 3 / heads;
  Sizes s{x[0], x[1], x[1] + past_length(step, net, 4), heads, heads, dim, dim};
  s.causal = step.node->integer("unidirectional", 0) != 0;
  if (auto checked = check_sizes(s); !checked) return std::move(checked).error();
  return s;
}
Status infer_projected(OnnxInfer& n) {
  auto s = projected_sizes(n.step, n.net());
  if (!s) return std::move(s).error();
  if (auto kept = n.set(1, {2, s->batch, s->heads, s->kv_len, s->head_dim}); !kept) return kept;
  return n.set(0, {s->batch, s->q_len, s->heads * s->v_dim});
}
Status lower_projected(OnnxLower& lower, const OnnxStep& step) {
  auto s = projected_sizes(step, lower.net());
  if (!s) return std::move(s).error();
  Gemm product;
  product.m = s->batch * s->q_len, product.n = 3 * s->heads * s->head_dim, product.k = lower.in(step, 0).dims[2];
  OwnedWeights weights = lower.own_matrix(step.inputs[1]);
  if (step.has(2)) lower.own_vector(weights, step.inputs[2]);
  auto qkv = lower.emit_part(step, "qkv", product, lower.tensors(step), product.m * product.n, weights);
  if (!qkv) return std::move(qkv).error();
  return emit_attention(lower, step, *s, {*qkv}, {});
}

Status lower_rotary(OnnxLower& lower, const OnnxStep& step) {
  auto s = step.attention ? Result<Sizes>(*step.attention) : onnx_rotary_sizes(step, lower.net());
  if (!s) return std::move(s).error();
  // One tensor alone: the kernel's two are its halves.
  if (s->kv_heads == 0) s->kv_heads = s->heads / 2, s->heads -= s->kv_heads;
  if (s->kv_heads == 0) return lower.emit(step, pointwise_shape(PointwiseOp::mul, lower.out(step).elements()));
  Rope shape;
  shape.tokens = s->batch * s->q_len, shape.heads = s->heads, shape.kv_heads = s->kv_heads;
  shape.head_dim = s->head_dim;
  return lower.emit(step, shape);
}

}  // namespace

Result<OnnxAttentionSizes> onnx_rotary_sizes(const OnnxStep& step, const OnnxNet& net) {
  const OnnxValue& x = net.value(step.inputs[0]);
  Count heads = std::clamp<Count>(step.node->integer("num_heads", 0), 0, kMostDimension);
  if (heads == 0 && x.dims.size() == 3) {  // the caches hold half a head's angles
    const std::size_t cos_at = step.node->domain == "com.microsoft" ? 2 : 1;
    const Count half =
        step.has(cos_at) && net.value(step.inputs[cos_at]).rank() > 0 ? net.value(step.inputs[cos_at]).dims.back() : 0;
    heads = half > 0 ? x.dims[2] / half / 2 : 0;
  }
  auto o = operand(x, heads);
  if (!o) return std::move(o).error();
  Sizes s;
  s.batch = o->batch, s.q_len = o->length, s.heads = o->heads, s.head_dim = o->dim;
  for (const Count n : {s.batch, s.q_len, s.heads, s.head_dim})
    if (n < 1) return misfit(x);
  return s;
}

std::span<const OnnxRule> onnx_attention_rules() {
  static const std::vector<OnnxRule> rules = {
      {"Attention", 1, infer_attention, lower_attention},
      {"MultiHeadAttention", 1, infer_attention, lower_attention},
      {"GroupQueryAttention", 1, infer_attention, lower_attention},
      {"com.microsoft.Attention", 2, infer_projected, lower_projected},
      {"tilecast.Attention", 3, nullptr, lower_attention},
      {"RotaryEmbedding", 2, infer_same, lower_rotary},
      {"tilecast.Rotary", 2, nullptr, lower_rotary},
  };
  return rules;
}

}  // namespace tilecast
