// Softmax attention and multi-head latent attention as operators.
#include "kernel/attention.h"
#include "kernel/attention_decode.h"
#include "kernel/attention_prefill.h"
#include "kernel/elementwise.h"
#include "kernel/gemm.h"
#include "kernel/kv_write.h"
#include "kernel/layernorm.h"
#include "kernel/mla_decode.h"
#include "kernel/mla_prefill.h"
#include "kernel/reduction.h"
#include "kernel/rmsnorm.h"
#include "kernel/rope.h"
#include "model/build_parts.h"

namespace tilecast {
namespace {

bool alike(const std::vector<Requests>& requests) {
  for (const Requests& r : requests)
    if (r.new_tokens != requests.front().new_tokens || r.cached != requests.front().cached) return false;
  return true;
}

Count count_of(const std::vector<Requests>& requests) {
  Count n = 0;
  for (const Requests& r : requests) n += r.count;
  return n;
}

// One value per request, for shapes whose lengths differ.
template <class Value>
std::vector<Count> each(const std::vector<Requests>& requests, Value value) {
  std::vector<Count> list;
  for (const Requests& r : requests) list.insert(list.end(), static_cast<std::size_t>(r.count), value(r));
  return list;
}

// Many queries per request: lengths of an attention_prefill or mla_prefill.
template <class Prefill>
void set_prefill_lengths(Prefill& shape, const std::vector<Requests>& requests) {
  shape.batch = count_of(requests);
  if (alike(requests)) {
    shape.q_len = requests.front().new_tokens;
    shape.kv_len = requests.front().new_tokens + requests.front().cached;
    return;
  }
  shape.lens = each(requests, [](const Requests& r) { return r.new_tokens; });
  shape.kv_lens = each(requests, [](const Requests& r) { return r.new_tokens + r.cached; });
}
template <class Decode>
void set_decode_lengths(Decode& shape, const std::vector<Requests>& requests) {
  shape.batch = count_of(requests);
  shape.q_len = requests.front().new_tokens;
  const auto keys = [](const Requests& r) { return r.new_tokens + r.cached; };
  if (alike(requests)) shape.kv_len = keys(requests.front());
  else shape.lens = each(requests, keys);
}

// Requests of many new tokens, and of one (or, speculating, a few).
struct Split {
  std::vector<Requests> prefill, decode;
};
Split split_of(const Workload& workload) {
  Split split;
  for (const Requests& r : workload.requests) {
    const bool decode = workload.mode == Mode::decode || (workload.mode == Mode::mixed && r.new_tokens == 1);
    (decode ? split.decode : split.prefill).push_back(r);
  }
  return split;
}
Count tokens_of(const std::vector<Requests>& requests) {
  Count n = 0;
  for (const Requests& r : requests) n += r.count * r.new_tokens;
  return n;
}

int normed_heads(SectionBuilder& b, const std::string& name, int x, Count tokens, Count heads, const AttentionSpec& a) {
  const Count rows = a.qk_norm_wide ? tokens : tokens * heads, cols = a.qk_norm_wide ? heads * a.head_dim : a.head_dim;
  const Count weights = a.qk_norm_scale ? (a.qk_norm_bias ? 2 : 1) * (a.qk_norm_each ? heads : 1) * cols : 0;
  const auto add = [&](auto norm) {
    norm.rows = rows, norm.cols = cols;
    return b.add(Role::attention_norm, name, norm, {x}, tokens * heads * a.head_dim, {.vector = weights});
  };
  return a.qk_norm_kind == NormKind::layer ? add(LayerNorm{}) : add(RmsNorm{});
}

int rotate(SectionBuilder& b, int q, int k, Count tokens, Count heads, Count kv_heads, Count head_dim,
           Count out_width = 0) {
  Rope rope;
  rope.tokens = tokens, rope.heads = heads, rope.kv_heads = kv_heads, rope.head_dim = head_dim;
  const Count width = out_width > 0 ? out_width : (heads + kv_heads) * head_dim;
  return b.add(Role::attention_rotation, "attention.rope", rope, {q, k}, tokens * width);
}

bool keeps_cache(const Workload& workload) { return workload.keep_cache && workload.mode != Mode::train; }

AttentionPrefill prefill_shape(const AttentionSpec& a, const std::vector<Requests>& requests) {
  AttentionPrefill shape;
  set_prefill_lengths(shape, requests);
  shape.heads = a.heads, shape.kv_heads = a.kv_heads, shape.head_dim = a.head_dim, shape.v_head_dim = a.v_head_dim;
  shape.window = a.window;
  // A two-sided window holds as many keys per query as one that looks back, which is what kernels support.
  shape.mask = a.causal || a.window > 0 ? AttentionMask::causal : AttentionMask::full;
  return shape;
}

// The attention itself, over what the requests are: one operator for each kind.
std::vector<int> attend(SectionBuilder& b, const AttentionSpec& a, std::vector<int> inputs, const Workload& workload,
                        Spelling spelling) {
  const Split split = split_of(workload);
  const Count v_dim = a.value_dim();
  std::vector<int> out;
  if (!split.prefill.empty())
    out.push_back(b.add(Role::attention, "attention.prefill", prefill_shape(a, split.prefill), inputs,
                        tokens_of(split.prefill) * a.heads * v_dim, {}, spelling));
  if (!split.decode.empty()) {
    AttentionDecode shape;
    set_decode_lengths(shape, split.decode);
    shape.heads = a.heads, shape.kv_heads = a.kv_heads, shape.head_dim = a.head_dim, shape.window = a.window;
    out.push_back(b.add(Role::attention, "attention.decode", shape, inputs, tokens_of(split.decode) * a.heads * v_dim,
                        {}, spelling));
  }
  if (a.sinks) b.last().weights.vector += a.heads;
  return out;
}

}  // namespace

int build_attention(SectionBuilder& b, const AttentionSpec& a, int x, const StackContext& at, Spelling spelling) {
  const Count tokens = at.tokens, hidden = at.stack.hidden;
  const Count v_dim = a.value_dim();
  const Count q_out = a.heads * a.head_dim, k_out = a.kv_heads * a.head_dim, v_out = a.kv_heads * v_dim;
  int q = 0, k = 0, v = 0;
  if (a.fused_qkv) {
    q = k = v = b.linear(Role::attention_qkv, "attention.qkv", x, tokens, hidden, q_out + k_out + v_out, a.q_bias);
  } else {
    q = b.linear(Role::attention_query, "attention.q", x, tokens, hidden, a.gate ? 2 * q_out : q_out, a.q_bias);
    k = b.linear(Role::attention_key, "attention.k", x, tokens, hidden, k_out, a.kv_bias && a.key_bias);
    v = b.linear(Role::attention_value, "attention.v", x, tokens, hidden, v_out, a.kv_bias);
  }
  const int gate = q;
  if (a.qk_norm || a.qk_norm_wide) {
    q = normed_heads(b, "attention.q_norm", q, tokens, a.heads, a);
    k = normed_heads(b, "attention.k_norm", k, tokens, a.kv_heads, a);
  }
  if (a.rotary_dim > 0) q = k = rotate(b, q, k, tokens, a.heads, a.kv_heads, a.rotary_dim);
  if (keeps_cache(at.workload)) {
    KvWrite write;
    write.tokens = tokens, write.kv_heads = a.kv_heads, write.head_dim = a.head_dim;
    b.add(Role::attention_cache_write, "attention.kv_write", write, {k, v}, tokens * (k_out + v_out));
  }
  std::vector<int> inputs = {q};
  if (k != q) inputs.push_back(k);
  if (v != q && v != k) inputs.push_back(v);
  std::vector<int> outs = attend(b, a, inputs, at.workload, spelling);
  int out = outs.front();
  if (a.gate) {
    outs.push_back(gate);
    out = b.pointwise(Role::attention_gate, "attention.gate", PointwiseOp::silu, outs, tokens * q_out);
  }
  return b.linear(Role::attention_out, "attention.out", out, tokens, a.heads * v_dim, hidden, a.out_bias);
}

int build_cross_attention(SectionBuilder& b, const AttentionSpec& a, int x, const StackContext& at, Spelling spelling) {
  const Count tokens = at.tokens, hidden = at.stack.hidden, width = a.heads * a.head_dim;
  const Count source_tokens = at.source ? at.source->tokens() : 0;
  const Count sequences = at.workload.sequences();
  const bool decode = at.workload.mode == Mode::decode;
  const int q = b.linear(Role::cross_query, "cross.q", x, tokens, hidden, width, a.q_bias);
  std::vector<int> inputs = {q};
  if (!decode) {  // keys and values of the source are computed once, with the first pass
    const int source = b.tensor("source", source_tokens * hidden);
    inputs.push_back(
        b.linear(Role::cross_key, "cross.k", source, source_tokens, hidden, width, a.kv_bias && a.key_bias));
    inputs.push_back(b.linear(Role::cross_value, "cross.v", source, source_tokens, hidden, width, a.kv_bias));
  }
  const Count source_len = sequences > 0 ? source_tokens / sequences : 0;
  int out = 0;
  if (decode) {
    AttentionDecode shape;
    shape.batch = sequences, shape.kv_len = source_len;
    shape.heads = a.heads, shape.kv_heads = a.kv_heads, shape.head_dim = a.head_dim;
    out = b.add(Role::cross_attention, "cross.decode", shape, inputs, tokens * width, {}, spelling);
  } else {
    AttentionPrefill shape;
    shape.batch = sequences, shape.q_len = tokens / sequences, shape.kv_len = source_len;
    shape.heads = a.heads, shape.kv_heads = a.kv_heads, shape.head_dim = a.head_dim;
    shape.mask = AttentionMask::full;
    out = b.add(Role::cross_attention, "cross.prefill", shape, inputs, tokens * width, {}, spelling);
  }
  OwnedWeights idle{.matrix = decode ? 2 * hidden * width : 0};
  if (decode && a.kv_bias) idle.vector = width + (a.key_bias ? width : 0);
  if (decode) b.last().weights = idle;  // they stay in memory
  return b.linear(Role::cross_out, "cross.out", out, tokens, width, hidden, a.out_bias);
}

namespace {

Count longest(const Workload& workload) {
  Count most = 0;
  for (const Requests& r : workload.requests) most = std::max(most, r.new_tokens + r.cached);
  return most;
}

// One kernel reads keys of eight bits, multiplies them with all heads' queries, and sums the positive part with the
// heads' weights: one score per key is written, not one per head (DeepGEMM's fp8_mqa_logits and fp8_paged_mqa_logits,
// which the engines call; FlashInfer-Bench, dsa_topk_indexer_fp8_h64_d128_topk2048_ps64: 128 bytes per key and its
// scale). For decoding that is, in bytes and operations, attention whose keys and values have half the width each. For
// prompts keys are reused: the same operations in a quarter of the heads, since a weighted sum costs the vector pipes a
// fraction of what an exponential does. Without a cache, as in training, it is a plain product.
Shape index_scores(const MlaSpec& a, const StackContext& at, Count sequences, Count keys) {
  constexpr Count kFewerHeads = 4;
  const Count each = std::max<Count>(1, at.tokens / sequences);
  if (!keeps_cache(at.workload)) {
    Bmm scores;
    scores.batch = sequences, scores.m = each * a.index_heads, scores.n = keys, scores.k = a.index_dim;
    return scores;
  }
  const auto fill = [&](auto shape, Count fewer) -> Shape {
    shape.batch = sequences, shape.q_len = each, shape.kv_len = keys;
    shape.heads = std::max<Count>(1, a.index_heads / fewer), shape.kv_heads = 1;
    shape.head_dim = a.index_dim * fewer / 2, shape.kv_dtype = CacheType::fp8;
    return shape;
  };
  return at.workload.mode == Mode::decode ? fill(AttentionDecode{}, 1) : fill(AttentionPrefill{}, kFewerHeads);
}

// DeepSeek Sparse Attention's indexer: small heads score every key for every query, and the best are kept.
void build_indexer(SectionBuilder& b, const MlaSpec& a, int x, int latent, const StackContext& at) {
  const Count tokens = at.tokens, hidden = at.stack.hidden;
  const Count latent_width = a.q_rank > 0 ? a.q_rank : hidden;
  const int q = b.linear(Role::indexer, "indexer.q", latent, tokens, latent_width, a.index_heads * a.index_dim, false);
  int k = b.linear(Role::indexer, "indexer.k", x, tokens, hidden, a.index_dim, false);
  const int weights = b.linear(Role::indexer, "indexer.weights", x, tokens, hidden, a.index_heads, false);
  LayerNorm norm;
  norm.rows = tokens, norm.cols = a.index_dim;
  k = b.add(Role::indexer, "indexer.k_norm", norm, {k}, tokens * a.index_dim, {.vector = 2 * a.index_dim});
  const Count sequences = at.workload.sequences(), keys = longest(at.workload);
  const int scored =
      b.add(Role::indexer, "indexer.scores", index_scores(a, at, sequences, keys), {q, k, weights}, tokens * keys);
  Reduction best;
  best.rows = tokens, best.cols = keys;
  b.add(Role::indexer, "indexer.topk", best, {scored}, tokens * a.index_topk);
}

// Absorbed form: queries absorb the keys' up-projection and attend to the latent cache.
int attend_latent(SectionBuilder& b, const MlaSpec& a, int q, Count tokens, MlaDecode shape, OwnedWeights kv_b) {
  Bmm absorb;
  absorb.batch = a.heads, absorb.m = tokens, absorb.n = a.kv_rank, absorb.k = a.nope_dim;
  const int absorbed =
      b.add(Role::latent_absorb, "attention.absorb_q", absorb, {q}, tokens * a.heads * a.kv_rank, kv_b);
  shape.heads = a.heads, shape.kv_lora = a.kv_rank, shape.rope_dim = a.rope_dim;
  const int latent = b.add(Role::attention, "attention.decode", shape, {absorbed}, tokens * a.heads * a.kv_rank);
  Bmm expand;
  expand.batch = a.heads, expand.m = tokens, expand.n = a.v_dim, expand.k = a.kv_rank;
  return b.add(Role::latent_absorb, "attention.absorb_v", expand, {latent}, tokens * a.heads * a.v_dim);
}

}  // namespace

int build_mla(SectionBuilder& b, const MlaSpec& a, int x, const StackContext& at) {
  const Count tokens = at.tokens, hidden = at.stack.hidden;
  const Count q_out = a.heads * (a.nope_dim + a.rope_dim);
  const auto rms = [&](const std::string& name, int input, Count cols) {
    RmsNorm norm;
    norm.rows = tokens, norm.cols = cols;
    return b.add(Role::latent_norm, name, norm, {input}, tokens * cols, {.vector = cols});
  };
  int q = 0, kv = 0, latent = x;
  if (a.q_rank > 0) {
    q = b.linear(Role::latent_down, "attention.q_a", x, tokens, hidden, a.q_rank, false);
    kv = b.linear(Role::latent_down, "attention.kv_a", x, tokens, hidden, a.kv_rank + a.rope_dim, false);
    q = latent = rms("attention.q_a_norm", q, a.q_rank);
    q = b.linear(Role::latent_up, "attention.q_b", q, tokens, a.q_rank, q_out, false);
  } else {
    q = b.linear(Role::attention_query, "attention.q", x, tokens, hidden, q_out, false);
    kv = b.linear(Role::latent_down, "attention.kv_a", x, tokens, hidden, a.kv_rank + a.rope_dim, false);
  }
  kv = rms("attention.kv_a_norm", kv, a.kv_rank);
  // What a training keeps for attention's gradients: queries whole, and the one rotated part of the keys beside every
  // head's own (Megatron's multi_latent_attention.py puts them together).
  const bool trains = at.workload.mode == Mode::train;
  const int rotated = rotate(b, q, kv, tokens, a.heads, 1, a.rope_dim, trains ? q_out + a.heads * a.rope_dim : 0);
  if (keeps_cache(at.workload)) {
    KvWrite write;  // one latent vector a token: half of what keys and values of one such head would be
    write.tokens = tokens, write.kv_heads = 1, write.head_dim = (a.kv_rank + a.rope_dim) / 2;
    b.add(Role::attention_cache_write, "attention.kv_write", write, {kv, rotated}, tokens * (a.kv_rank + a.rope_dim));
  }
  const OwnedWeights kv_b{.matrix = a.kv_rank * a.heads * (a.nope_dim + a.v_dim)};
  if (a.index_topk > 0) build_indexer(b, a, x, latent, at);
  if (a.index_topk > 0 && longest(at.workload) > a.index_topk) {  // every query has a list of keys of its own
    MlaDecode shape;
    shape.batch = tokens, shape.kv_len = a.index_topk;
    const int out = attend_latent(b, a, rotated, tokens, shape, kv_b);
    return b.linear(Role::attention_out, "attention.out", out, tokens, a.heads * a.v_dim, hidden, false);
  }
  const Split split = split_of(at.workload);
  int out = 0;
  if (!split.prefill.empty()) {
    const Count n = tokens_of(split.prefill);
    const int keys =
        b.linear(Role::latent_up, "attention.kv_b", kv, n, a.kv_rank, a.heads * (a.nope_dim + a.v_dim), false);
    MlaPrefill shape;
    set_prefill_lengths(shape, split.prefill);
    shape.heads = a.heads, shape.nope_dim = a.nope_dim, shape.rope_dim = a.rope_dim, shape.v_dim = a.v_dim;
    out = b.add(Role::attention, "attention.prefill", shape, {rotated, keys}, n * a.heads * a.v_dim);
  }
  if (!split.decode.empty()) {
    MlaDecode shape;
    set_decode_lengths(shape, split.decode);
    // The up-projection belongs to the first operator that multiplies by it.
    out = attend_latent(b, a, rotated, tokens_of(split.decode), shape, split.prefill.empty() ? kv_b : OwnedWeights{});
  }
  return b.linear(Role::attention_out, "attention.out", out, tokens, a.heads * a.v_dim, hidden, false);
}

}  // namespace tilecast
