// What Hugging Face's modules launch, kernel by kernel (transformers' modeling files; NeuSight's traces of them agree).
#include <algorithm>
#include <numeric>

#include "engine/arrange.h"
#include "engine/rewriter.h"
#include "kernel/attention_decode.h"
#include "kernel/attention_prefill.h"
#include "kernel/copy.h"
#include "kernel/cross_entropy.h"
#include "kernel/elementwise.h"
#include "kernel/gated_activation.h"
#include "kernel/gemm.h"
#include "kernel/kv_write.h"
#include "kernel/layernorm.h"
#include "kernel/mla_prefill.h"
#include "kernel/moe.h"
#include "kernel/reduction.h"
#include "kernel/rmsnorm.h"
#include "kernel/rope.h"
#include "kernel/softmax.h"
#include "model/backward.h"

namespace tilecast {
namespace {

// LlamaRMSNorm: square, mean, epsilon and inverse root, scale, weight; in low precision cast to fp32 and back.
// A row's scale and the weights are broadcast, so neither product is contiguous; for a single row, the weights are.
void spell_rms_norm(SectionRewriter& out, const Operator& op, const RmsNorm& norm, bool cast) {
  const Count elements = norm.rows * norm.cols;
  const auto full = [&](int tensor) {
    out.in_full_precision();
    return tensor;
  };
  int x = op.inputs.front();
  if (cast) x = out.walking(TorchWalk::widen, full(out.add(op.name + ".float", copy_of(elements), {x}, elements)));
  const int squares = full(out.pointwise(op.name + ".pow", PointwiseOp::square, {x}, elements));
  Reduction mean;
  mean.rows = norm.rows, mean.cols = norm.cols;
  int scale = full(out.add(op.name + ".mean", mean, {squares}, norm.rows));
  scale = full(out.pointwise(op.name + ".eps", PointwiseOp::add, {scale}, norm.rows));
  scale = full(out.pointwise(op.name + ".rsqrt", PointwiseOp::div, {scale}, norm.rows));
  int y = full(out.add(op.name + ".scale", elementwise(PointwiseOp::mul, 1, elements), {x, scale}, elements));
  out.last().walk = TorchWalk::strided;
  if (cast) y = out.walking(TorchWalk::narrow, out.add(op.name + ".back", copy_of(elements), {y}, elements));
  out.finish(op, ".weight", elementwise(PointwiseOp::mul, 1, elements), {y});
  if (norm.rows > 1) out.last().walk = TorchWalk::strided;
}

// One token per sequence: views with heads and tokens swapped are still contiguous.
bool decodes_one(const Section& section) {
  return std::any_of(section.operators.begin(), section.operators.end(), [](const Operator& op) {
    const auto* a = op.shape.get_if<AttentionDecode>();
    return a && a->q_len == 1;
  });
}

// Halves of x in fp32 times cosines and sines, their differences and sums concatenated: Meta's form, by hand.
int spell_wide_rotation(SectionRewriter& out, const std::string& name, int x, Count elements) {
  const auto wide = [&](TorchWalk walk, int tensor) {
    out.in_full_precision();
    return out.walking(walk, tensor);
  };
  const Count half = elements / 2;
  const int full = wide(TorchWalk::strided_widen, out.add(name + ".float", copy_of(elements), {x}, elements));
  const auto product = [&](const char* part) {
    return wide(TorchWalk::strided, out.pointwise(name + part, PointwiseOp::mul, {full}, half));
  };
  const auto joined = [&](const char* part, int a, int b) {
    return wide(TorchWalk::vectorized, out.pointwise(name + part, PointwiseOp::add, {a, b}, half));
  };
  const int first_cos = product(".first_cos"), second_sin = product(".second_sin");
  const int first = joined(".first", first_cos, second_sin);
  const int second_cos = product(".second_cos"), first_sin = product(".first_sin");
  const int second = joined(".second", second_cos, first_sin);
  return wide(TorchWalk::vectorized, out.add(name + ".cat", copy_of(elements), {first, second}, elements));
}

void spell_wide_rope(SectionRewriter& out, const Operator& op, Count queries, Count keys) {
  const int k = spell_wide_rotation(out, op.name + ".k", op.inputs.back(), keys);
  const int narrow = out.walking(TorchWalk::narrow, out.add(op.name + ".k.back", copy_of(keys), {k}, keys));
  const int q = spell_wide_rotation(out, op.name + ".q", op.inputs.front(), queries);
  out.finish(op, ".q.back", copy_of(queries), {q, narrow});
  out.last().walk = TorchWalk::narrow;
}

// apply_rotary_pos_emb: x cos + rotate_half(x) sin, of queries and of keys, which are views with heads before tokens.
void spell_rope(SectionRewriter& out, const Operator& op, const Rope& rope, const Section& section, bool wide) {
  const Count kv_heads = rope.kv_heads > 0 ? rope.kv_heads : rope.heads;
  const Count keys = rope.tokens * kv_heads * rope.head_dim, queries = rope.tokens * rope.heads * rope.head_dim;
  if (wide) return spell_wide_rope(out, op, queries, keys);
  const auto strided = [&](int tensor) { return out.walking(TorchWalk::strided, tensor); };
  const auto rotate = [&](const std::string& name, int x, Count elements) {
    const int cos = strided(out.pointwise(name + ".cos", PointwiseOp::mul, {x}, elements));
    const int negated = strided(out.pointwise(name + ".neg", PointwiseOp::mul, {x}, elements / 2));
    const int turned = out.walking(TorchWalk::cat, out.add(name + ".cat", copy_of(elements), {x, negated}, elements));
    return std::pair(cos, strided(out.pointwise(name + ".sin", PointwiseOp::mul, {turned}, elements)));
  };
  const TorchWalk sum = decodes_one(section) ? TorchWalk::vectorized : TorchWalk::strided;
  const auto [k_cos, k_sin] = rotate(op.name + ".k", op.inputs.back(), keys);
  const int k = out.walking(sum, out.pointwise(op.name + ".k.add", PointwiseOp::add, {k_cos, k_sin}, keys));
  const auto [q_cos, q_sin] = rotate(op.name + ".q", op.inputs.front(), queries);
  out.finish(op, ".q.add", elementwise(PointwiseOp::add, 2, queries), {q_cos, q_sin, k});
  out.last().walk = sum;
}

// Gate and values that are halves of one product's rows are not contiguous, unless there is one row.
void spell_gate(SectionRewriter& out, const Operator& op, const GatedActivation& gate, bool packed) {
  const Count elements = gate.rows * gate.cols;
  const TorchWalk walk = packed && gate.rows > 1 ? TorchWalk::strided : TorchWalk::vectorized;
  const int act =
      out.walking(walk, out.pointwise(op.name + ".act", gate.act == Gate::silu ? PointwiseOp::silu : PointwiseOp::gelu,
                                      {op.inputs.front()}, elements));
  out.finish(op, ".mul", elementwise(PointwiseOp::mul, 2, elements), {act, op.inputs.back()});
  out.last().walk = walk;
}

// NewGELUActivation: 0.5 x (1 + tanh(c (x + 0.044715 x^3))).
void spell_gelu(SectionRewriter& out, const Operator& op, Count n) {
  const int x = op.inputs.front();
  const auto unary = [&](const char* name, PointwiseOp f, int y) { return out.pointwise(op.name + name, f, {y}, n); };
  const int half = unary(".half", PointwiseOp::mul, x);
  int y = unary(".pow", PointwiseOp::square, x);
  y = unary(".cubic", PointwiseOp::mul, y);
  y = out.pointwise(op.name + ".add", PointwiseOp::add, {x, y}, n);
  y = unary(".scale", PointwiseOp::mul, y);
  y = unary(".tanh", PointwiseOp::tanh, y);
  y = unary(".one", PointwiseOp::add, y);
  out.finish(op, ".mul", elementwise(PointwiseOp::mul, 2, n), {half, y});
}

struct EagerAttention {
  Count batch = 0, q_len = 0, kv_len = 0, heads = 0, kv_heads = 0, head_dim = 0, v_dim = 0;
};
// Ragged batches are padded to the longest.
EagerAttention eager_of(const AttentionPrefill& a) {
  const auto most = [](const std::vector<Count>& list, Count same) {
    return list.empty() ? same : *std::max_element(list.begin(), list.end());
  };
  const Count q = most(a.lens, a.q_len);
  const Count keys = most(a.kv_lens, a.kv_len > 0 ? a.kv_len : q);
  return {a.batch,
          q,
          keys,
          a.heads,
          a.kv_heads > 0 ? a.kv_heads : a.heads,
          a.head_dim,
          a.v_head_dim > 0 ? a.v_head_dim : a.head_dim};
}
EagerAttention eager_of(const AttentionDecode& a) {
  const Count keys = a.lens.empty() ? a.kv_len : *std::max_element(a.lens.begin(), a.lens.end());
  return {a.batch, a.q_len, keys, a.heads, a.kv_heads > 0 ? a.kv_heads : a.heads, a.head_dim, a.head_dim};
}

int with_dropout(SectionRewriter& out, const std::string& name, int x) {
  const int y = out.pointwise(name + ".dropout", PointwiseOp::mul, {x}, out.elements(x));
  out.last().spelling = Spelling::dropout;
  return y;
}

// T5 looks biases up in a table of (buckets, heads), so that the heads of a pair of positions are neighbours in memory
// and the scores' order walks across them: once a head, over all pairs (elementwise_kernel in the H200's traces of T5,
// data/measurements/h200_steps_kernels.csv.gz). What its cross attention adds are zeros in the scores' own order.
bool adds_positions(const Operator& op) {
  return op.spelling == Spelling::unscaled && op.role != Role::cross_attention;
}
// T5's bias is as large as the scores; masks are read repeatedly from the cache.
Shape mask_of(const Operator& op, const EagerAttention& a) {
  const Count rows = a.batch * a.heads, cols = a.q_len * a.kv_len;
  if (!adds_positions(op)) return elementwise(PointwiseOp::add, op.spelling == Spelling::unscaled ? 2 : 1, rows * cols);
  Elementwise mask;
  mask.op = PointwiseOp::add, mask.inputs = 2, mask.rows = rows, mask.cols = cols;
  return mask;
}

// Scores, mask, softmax and the weighted sum, each a separate kernel.
void spell_attention(SectionRewriter& out, const Operator& op, const EagerAttention& a,
                     const SpellingOptions& options) {
  const Count groups = a.batch * a.heads, scores = groups * a.q_len * a.kv_len;
  const Count queries = groups * a.q_len * a.head_dim, keys = groups * a.kv_len * a.head_dim;
  int q = op.inputs.front();
  int k = op.inputs.size() > 1 ? op.inputs[1] : q;
  int v = op.inputs.size() > 2 ? op.inputs[2] : k;
  const auto copied = [&](const char* name, int x, Count elements) {
    return out.add(op.name + name, copy_of(elements), {x}, elements);
  };
  if (op.spelling == Spelling::clamped) {
    q = out.pointwise(op.name + ".scale", PointwiseOp::mul, {q}, queries);
    q = copied(".q", q, queries), k = copied(".k", k, keys), v = copied(".v", v, keys);
  } else {
    const bool repeats = a.kv_heads < a.heads;  // repeat_kv
    if (repeats) k = copied(".repeat_k", k, keys), v = copied(".repeat_v", v, keys);
    // torch.matmul makes one dimension of batch and heads, which views of (batch, length, heads, dim) must be copied
    // for; Megatron's sequences come first, and batch and heads are neighbours.
    const bool copies = a.batch > 1 && !options.fused_layers;
    if (copies) q = copied(".q", q, queries);
    if (copies && !repeats) k = copied(".k", k, keys), v = copied(".v", v, keys);
  }
  Bmm product;
  product.batch = groups, product.m = a.q_len, product.n = a.kv_len, product.k = a.head_dim;
  int s = out.add(op.name + ".scores", product, {q, k}, scores);
  if (op.spelling == Spelling::masked_where || op.spelling == Spelling::masked_add)
    s = out.pointwise(op.name + ".scale", PointwiseOp::div, {s}, scores);
  s = out.add(op.name + ".mask", mask_of(op, a), {s}, scores);
  if (adds_positions(op)) out.last().walk = TorchWalk::transposed;
  if (op.spelling == Spelling::clamped) s = out.pointwise(op.name + ".clamp", PointwiseOp::relu, {s}, scores);
  Softmax softmax;
  softmax.rows = groups * a.q_len, softmax.cols = a.kv_len;
  s = out.add(op.name + ".softmax", softmax, {s}, scores);
  if (options.dropout && op.spelling != Spelling::clamped) s = with_dropout(out, op.name, s);
  Bmm sum;
  sum.batch = groups, sum.m = a.q_len, sum.n = a.v_dim, sum.k = a.kv_len;
  const Count result = groups * a.q_len * a.v_dim;
  const int y = out.add(op.name + ".values", sum, {s, v}, result);
  out.finish(op, ".contiguous", copy_of(result), {y});
}

// What scaled_dot_product_attention does if none of its fused kernels supports the mask
// (_scaled_dot_product_attention_math): all in fp32, queries and keys scaled by the root each, a softmax that looks for
// rows without any key (_safe_softmax). Kernels as profiled of T5 on an H200 (h200_steps_kernels.csv.gz).
void spell_math_attention(SectionRewriter& out, const Operator& op, const EagerAttention& a, bool cast) {
  const Count groups = a.batch * a.heads, rows = groups * a.q_len, scores = rows * a.kv_len;
  const auto wide = [&](TorchWalk walk, int tensor) {
    out.in_full_precision();
    return out.walking(walk, tensor);
  };
  const auto operand = [&](const std::string& name, int x, Count elements, bool scaled) {
    const std::string full = op.name + name;
    if (cast) x = wide(TorchWalk::widen, out.add(full + "_float", copy_of(elements), {x}, elements));
    if (scaled) x = wide(TorchWalk::vectorized, out.pointwise(full + "_scale", PointwiseOp::mul, {x}, elements));
    return wide(TorchWalk::strided, out.add(full, copy_of(elements), {x}, elements));
  };
  const Count keys = groups * a.kv_len;
  const int q = operand(".q", op.inputs.front(), rows * a.head_dim, true);
  const int k = operand(".k", op.inputs.size() > 1 ? op.inputs[1] : op.inputs.front(), keys * a.head_dim, true);
  const int v = operand(".v", op.inputs.size() > 2 ? op.inputs[2] : op.inputs.front(), keys * a.v_dim, false);
  Bmm product, sum;
  product.batch = groups, product.m = a.q_len, product.n = a.kv_len, product.k = a.head_dim;
  sum.batch = groups, sum.m = a.q_len, sum.n = a.v_dim, sum.k = a.kv_len;
  int s = wide(TorchWalk::vectorized, out.add(op.name + ".scores", product, {q, k}, scores));
  s = wide(TorchWalk::strided, out.add(op.name + ".mask", elementwise(PointwiseOp::add, 1, scores), {s}, scores));
  Softmax softmax;
  softmax.rows = rows, softmax.cols = a.kv_len;
  const int p = wide(TorchWalk::vectorized, out.add(op.name + ".softmax", softmax, {s}, scores));
  const int none = out.pointwise(op.name + ".is_masked", PointwiseOp::copy, {s}, scores);
  Reduction all;
  all.rows = rows, all.cols = a.kv_len;
  const int empty = out.add(op.name + ".all_masked", all, {none}, rows);
  s = wide(TorchWalk::strided, out.pointwise(op.name + ".where", PointwiseOp::copy, {p}, scores));
  out.last().inputs.push_back(empty);
  const Count result = rows * a.v_dim;
  const int y = wide(TorchWalk::vectorized, out.add(op.name + ".values", sum, {s, v}, result));
  out.finish(op, ".back", copy_of(result), {y});
  out.last().walk = cast ? TorchWalk::narrow : TorchWalk::strided;
}

// The rank's experts one after another: their tokens gathered, three (or two) products, scaled and added back.
void spell_experts(SectionRewriter& out, const Operator& op, const Moe& moe) {
  const Count rows = std::max<Count>(1, moe.tokens * moe.topk / moe.experts), inter = moe.local_inter();
  const Count active = std::min(moe.local_experts(), ceil_div(moe.tokens * moe.topk, moe.ep));
  const auto repeated = [&] { out.last().times = active; };
  const auto linear = [&](const std::string& name, int x, Count in, Count width) {
    Gemm g;
    g.m = rows, g.n = width, g.k = in;
    const int y = out.add(op.name + name, g, {x}, rows * width);
    repeated();
    return y;
  };
  const int x = out.add(op.name + ".gather", copy_of(rows * moe.hidden), {op.inputs.front()}, rows * moe.hidden);
  repeated();
  int inner = linear(".up", x, moe.hidden, inter);
  if (moe.gated) {
    const int gate = linear(".gate", x, moe.hidden, inter);
    const int act = out.pointwise(op.name + ".act", PointwiseOp::silu, {gate}, rows * inter);
    repeated();
    inner = out.pointwise(op.name + ".mul", PointwiseOp::mul, {act, inner}, rows * inter);
  } else {
    inner = out.pointwise(op.name + ".act", PointwiseOp::relu, {inner}, rows * inter);
  }
  repeated();
  const int y = linear(".down", inner, inter, moe.hidden);
  out.finish(op, ".scatter", elementwise(PointwiseOp::mul, 2, rows * moe.hidden), {y});
  repeated();
}

// DynamicCache appends by concatenation: the whole cache of keys and of values is copied. A static one is written into.
void spell_cache(SectionRewriter& out, const Operator& op, const KvWrite& write, const Section& section,
                 bool static_cache) {
  Count tokens = write.tokens;
  for (const Operator& other : section.operators)
    if (const auto* a = other.shape.get_if<AttentionDecode>(); a && !static_cache)
      tokens = a->batch * eager_of(*a).kv_len;
  const Count elements = tokens * write.kv_heads * write.head_dim;
  const TorchWalk walk = static_cache ? TorchWalk::index : TorchWalk::vectorized;
  out.walking(walk, out.add(op.name + ".k", copy_of(elements), {op.inputs.front()}, elements));
  out.finish(op, ".v", copy_of(elements), {op.inputs.back()});
  out.last().walk = walk;
}

// Logits are cast up before the loss; a fused one reads them once and writes their gradient once.
void spell_loss(SectionRewriter& out, const Operator& op, const CrossEntropy& loss, LossForm form) {
  if (form == LossForm::fused) {
    Reduction sum;
    sum.rows = loss.rows, sum.cols = loss.cols;
    out.finish(op, "", sum, op.inputs);
    out.last().spelling = Spelling::fused_loss;
    return;
  }
  const Count elements = loss.rows * loss.cols;
  const int full = out.walking(TorchWalk::widen, out.add(op.name + ".float", copy_of(elements), op.inputs, elements));
  if (form == LossForm::shifted) {
    out.set_kind(full, TensorKind::statistic);
    const int shifted = out.pointwise(op.name + ".shift", PointwiseOp::add, {full}, elements);
    out.set_kind(shifted, TensorKind::wide);
    out.finish(op, "", loss, {shifted});
  } else {
    out.set_kind(full, TensorKind::wide);
    out.finish(op, "", loss, {full});
  }
  if (form == LossForm::in_place || form == LossForm::shifted) out.last().spelling = Spelling::in_place_loss;
}

bool ends_a_block(const Operator& op) {
  if (op.outputs.empty()) return false;
  return op.role == Role::attention_out || op.role == Role::cross_out || op.role == Role::mlp_down ||
         op.role == Role::experts;
}

// Products around a softmax of divided scores, in which Inductor finds scaled_dot_product_attention
// (torch/_inductor/fx_passes/fuse_attention.py, _sfdp_pattern_11 and _12, from PyTorch 2.1 on). A mask of ones, as
// encoders make it where they are given none, is folded away before (joint_graph.py, constant_fold_uniform_value); a
// causal mask stays, and GPT-2's and T5's forms match no pattern of that release.
bool looks_like_attention(const Operator& op) {
  const auto* a = op.shape.get_if<AttentionPrefill>();
  return a && a->mask == AttentionMask::full && op.spelling == Spelling::masked_add;
}

void spell(SectionRewriter& out, const Operator& op, const Section& section, const SpellingOptions& options) {
  // Inductor's kernels of a rotation and of a gate, forward and backward, read and write what those of one operator do.
  const bool whole = options.fused_layers || options.compiled;
  if (const auto* norm = op.shape.get_if<RmsNorm>(); norm && !options.fused_norm)
    return spell_rms_norm(out, op, *norm, options.low_precision);
  if (const auto* rope = op.shape.get_if<Rope>(); rope && !whole)
    return spell_rope(out, op, *rope, section, options.wide_rotation && options.low_precision);
  if (const auto* gate = op.shape.get_if<GatedActivation>(); gate && !whole)
    return spell_gate(out, op, *gate, options.merged_projections);
  if (const auto* e = op.shape.get_if<Elementwise>(); e && op.spelling == Spelling::gelu_new && !options.fused_norm)
    return spell_gelu(out, op, e->count());
  if (const auto* moe = op.shape.get_if<Moe>(); moe && !options.fused_layers) return spell_experts(out, op, *moe);
  if (const auto* write = op.shape.get_if<KvWrite>())
    return spell_cache(out, op, *write, section, options.static_cache);
  if (const auto* loss = op.shape.get_if<CrossEntropy>();
      loss && (options.low_precision || options.loss == LossForm::fused))
    return spell_loss(out, op, *loss, options.loss);
  if (options.math_attention) {
    if (const auto* a = op.shape.get_if<AttentionPrefill>())
      return spell_math_attention(out, op, eager_of(*a), options.low_precision);
    if (const auto* a = op.shape.get_if<AttentionDecode>())
      return spell_math_attention(out, op, eager_of(*a), options.low_precision);
  }
  if (options.eager_attention && !(options.compiled && looks_like_attention(op))) {
    if (const auto* a = op.shape.get_if<AttentionPrefill>()) return spell_attention(out, op, eager_of(*a), options);
    if (const auto* a = op.shape.get_if<MlaPrefill>())
      return spell_attention(out, op, eager_of(as_prefill(*a)), options);
    if (const auto* a = op.shape.get_if<AttentionDecode>()) return spell_attention(out, op, eager_of(*a), options);
  }
  out.keep(op);
}

// Encoders that add positions to what a convolution left go on with its layout, channels before tokens: a sum's result
// is laid out as its first operand is, so each sum of the stream reads the block's result across, and each norm copies
// what it reads into order first. Models that put a class token in front make their stream contiguous with it.
bool is_front_end(const Section& section, std::string_view name) {
  return section.part.kind == SectionKind::front_end && section.name == name;
}
bool hears(const Graph& graph) {
  return std::any_of(graph.sections.begin(), graph.sections.end(),
                     [](const Section& s) { return is_front_end(s, "audio"); });
}
bool follows_convolutions(const Graph& graph) {
  const auto concatenates = [](const Operator& op) { return op.shape.is<Copy>(); };
  return hears(graph) || std::any_of(graph.sections.begin(), graph.sections.end(), [&](const Section& s) {
           return is_front_end(s, "patches") && std::none_of(s.operators.begin(), s.operators.end(), concatenates);
         });
}

int contiguous(SectionRewriter& out, const std::string& name, int x) {
  return out.walking(TorchWalk::strided, out.add(name, copy_of(out.elements(x)), {x}, out.elements(x)));
}
int put_in_order(SectionRewriter& out, const std::string& name, int x, Count width) {
  Copy transpose;
  transpose.rows = out.elements(x) / width, transpose.cols = width, transpose.transpose = true;
  return out.add(name, transpose, {x}, out.elements(x));
}

// Whisper makes queries, keys, values and the result contiguous one by one, whose rows of a head stay together.
void spell_copied_attention(SectionRewriter& out, const Operator& op) {
  Operator inner = op;
  for (std::size_t i = 0; i < inner.inputs.size(); ++i)
    inner.inputs[i] = contiguous(out, op.name + ".contiguous" + std::to_string(i), op.inputs[i]);
  const int result = op.outputs.front();
  const int mixed = out.add(op.name, op.shape, inner.inputs, out.elements(result));
  inner.outputs = {mixed};
  out.last() = inner;
  out.finish(op, ".reshape", copy_of(out.elements(result)), {mixed});
  out.last().walk = TorchWalk::strided;
}

// Whether the operator was one of those.
bool spell_transposed(SectionRewriter& out, const Operator& op, bool hears) {
  if (hears && op.shape.is<AttentionPrefill>()) return spell_copied_attention(out, op), true;
  if (const auto* layer_norm = op.shape.get_if<LayerNorm>()) {
    Operator norm = op;
    norm.inputs.front() = put_in_order(out, op.name + ".contiguous", op.inputs.front(), layer_norm->cols);
    out.keep(norm);
    return true;
  }
  if (op.role != Role::residual) return false;
  out.keep(op);
  out.last().walk = TorchWalk::transposed;
  return true;
}

}  // namespace

Graph spelled_out(const Graph& graph, const SpellingOptions& options) {
  const bool transposed = follows_convolutions(graph) && !options.fused_norm && !options.eager_attention;
  const bool audio = hears(graph);
  Graph result{graph.name, {}};
  for (const Section& section : graph.sections) {
    SectionRewriter out(section);
    std::vector<int> now(section.tensors.size());  // where a tensor went through dropout, what came out
    std::iota(now.begin(), now.end(), 0);
    for (Operator op : section.operators) {
      for (int& input : op.inputs) input = now[static_cast<std::size_t>(input)];
      out.pieces_of(op);
      const bool encodes = section.part.kind == SectionKind::layer && section.part.encoder;
      if (!(transposed && encodes && spell_transposed(out, op, audio))) spell(out, op, section, options);
      if (options.dropout && ends_a_block(op))
        now[static_cast<std::size_t>(op.outputs.front())] = with_dropout(out, op.name, op.outputs.front());
    }
    result.sections.push_back(std::move(out).take());
  }
  return result;
}

}  // namespace tilecast
