#include "model/onnx_fuse.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "model/onnx_match.h"
#include "model/onnx_rules.h"

namespace tilecast {
namespace {

bool one_of(std::string_view op, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

// Steps that some output needs and that are not computed once and for all.
void prune(OnnxNet& net) {
  std::vector<bool> needed(net.values.size(), false);
  for (std::size_t i = 0; i < net.values.size(); ++i) needed[i] = net.values[i].output;
  std::vector<OnnxStep> kept;
  for (std::size_t i = net.steps.size(); i-- > 0;) {
    OnnxStep& step = net.steps[i];
    bool live = false, constant = true;
    for (const int id : step.outputs) {
      if (id < 0) continue;
      live = live || needed[static_cast<std::size_t>(id)];
      constant = constant && net.value(id).constant;
    }
    if (!live || constant) continue;
    for (const int id : step.inputs)
      if (id >= 0) needed[static_cast<std::size_t>(id)] = true;
    kept.push_back(std::move(step));
  }
  std::reverse(kept.begin(), kept.end());
  net.steps = std::move(kept);
}

// A vector along the last axis of `like`.
bool is_row(const OnnxValue& v, const OnnxValue& like) {
  return v.constant && !like.dims.empty() && !v.dims.empty() && v.elements() == like.dims.back() &&
         v.dims.back() == like.dims.back();
}

// x * sigmoid(x) and similar; act(a) * b.
bool fuse_product_activation(OnnxMatch& m, OnnxStep& step) {
  for (const std::size_t side : {0u, 1u}) {
    const int x = step.inputs[side], other = step.inputs[1 - side];
    const OnnxStep* act = m.producer(m.past_casts(other));
    if (!act) continue;
    const bool hard = act->op == "HardSigmoid";
    if (act->op == "Sigmoid" || hard) {
      int inner = act->inputs[0];
      const bool same = m.past_casts(inner) == m.past_casts(x);
      if (!same) inner = m.past_scaling(inner);
      if (m.past_casts(inner) == m.past_casts(x)) {
        step.op = hard ? "HardSwish" : same ? "tilecast.Silu" : "QuickGelu";
        step.inputs = {x};
        return true;
      }
    }
    const bool silu = one_of(act->op, {"tilecast.Silu", "Swish"}),
               gelu = one_of(act->op, {"Gelu", "FastGelu", "QuickGelu"});
    if ((silu || gelu) && act->inputs.size() == 1 && !m.value(x).constant && m.value(x).dims == m.value(other).dims &&
        m.read_once(other)) {
      step.op = silu ? "tilecast.GatedSilu" : "tilecast.GatedGelu";
      step.inputs = {act->inputs[0], x};
      return true;
    }
  }
  return false;
}

// 0.5 * x * (1 + erf(x / sqrt 2)), or with tanh, in any order.
bool fuse_gelu(OnnxMatch& m, OnnxStep& step) {
  double scale = 1;
  std::vector<int> factors, open = step.inputs;
  for (int taken = 0; !open.empty() && taken < 8; ++taken) {
    const int id = open.back();
    open.pop_back();
    const OnnxStep* from = m.producer(id);
    if (const auto number = m.number(id)) scale *= *number;
    else if (from && from->op == "Mul") open.insert(open.end(), from->inputs.begin(), from->inputs.end());
    else factors.push_back(id);
  }
  if (factors.size() != 2 || !open.empty() || std::abs(scale - 0.5) > 1e-3) return false;
  for (const std::size_t side : {0u, 1u}) {
    const OnnxStep* sum = m.producer(factors[side]);
    if (!sum || sum->op != "Add") continue;
    for (const std::size_t at : {0u, 1u}) {
      const OnnxStep* curve = m.producer(sum->inputs[at]);
      if (!curve || !one_of(curve->op, {"Erf", "Tanh"}) || m.number(sum->inputs[1 - at]) != 1.0) continue;
      step.op = "Gelu", step.inputs = {factors[1 - side]};
      return true;
    }
  }
  return false;
}

// sqrt(mean(d^2) + eps) along the last axis: d, or -1.
int deviation_of(const OnnxMatch& m, int id) {
  const OnnxStep* root = m.producer(m.past_casts(id));
  if (!root || root->op != "Sqrt") return -1;
  const OnnxStep* sum = m.producer(root->inputs[0]);
  if (!sum || sum->op != "Add") return -1;
  for (const int part : sum->inputs) {
    const OnnxStep* mean = m.producer(m.past_casts(part));
    if (!mean || mean->op != "ReduceMean") continue;
    const OnnxStep* square = m.producer(m.past_casts(mean->inputs[0]));
    const OnnxValue &in = m.value(mean->inputs[0]), &out = m.value(mean->outputs[0]);
    if (!square || in.dims.empty() || out.elements() * in.dims.back() != in.elements()) continue;
    const bool power = square->op == "Pow" && m.number(square->inputs[1]) == 2.0;
    const bool product = square->op == "Mul" && square->inputs[0] == square->inputs[1];
    if (power || product) return square->inputs[0];
  }
  return -1;
}

// x - mean(x): x, or -1.
int centred_of(const OnnxMatch& m, int id) {
  const OnnxStep* difference = m.producer(m.past_casts(id));
  if (!difference || difference->op != "Sub") return -1;
  const OnnxStep* mean = m.producer(m.past_casts(difference->inputs[1]));
  if (!mean || mean->op != "ReduceMean") return -1;
  return m.past_casts(mean->inputs[0]) == m.past_casts(difference->inputs[0]) ? difference->inputs[0] : -1;
}

// d / sqrt(mean(d^2) + eps), or d * 1 / that.
bool fuse_norm(OnnxMatch& m, OnnxStep& step) {
  for (const std::size_t side : {0u, 1u}) {
    if (step.op == "Div" && side == 1) break;
    int root = step.inputs[1 - side];
    if (step.op == "Mul") {
      const OnnxStep* inverse = m.producer(m.past_casts(root));
      const bool reciprocal = inverse && inverse->op == "Reciprocal";
      const bool one_over = inverse && inverse->op == "Div" && m.number(inverse->inputs[0]) == 1.0;
      if (!reciprocal && !one_over) continue;
      root = inverse->inputs[one_over ? 1 : 0];
    }
    const int d = deviation_of(m, root);
    if (d < 0 || m.past_casts(d) != m.past_casts(step.inputs[side])) continue;
    const int x = centred_of(m, d);
    step.op = x >= 0 ? "LayerNormalization" : "SimplifiedLayerNormalization";
    step.inputs = {m.past_casts(x >= 0 ? x : d)};
    return true;
  }
  return false;
}

// A scale after a norm that has none, a shift after one that has a scale.
bool fuse_affine(OnnxMatch& m, OnnxStep& step) {
  for (const std::size_t side : {0u, 1u}) {
    const OnnxStep* norm = m.producer(m.past_casts(step.inputs[side]));
    if (!norm || !is_row(m.value(step.inputs[1 - side]), m.value(step.outputs[0]))) continue;
    const bool scale = step.op == "Mul" && norm->inputs.size() == 1 &&
                       one_of(norm->op, {"LayerNormalization", "SimplifiedLayerNormalization"});
    const bool shift = step.op == "Add" && norm->inputs.size() == 2 && norm->op == "LayerNormalization";
    if (!scale && !shift) continue;
    const int own = step.inputs[1 - side];
    m.become(step, *norm);
    step.inputs.push_back(own);
    return true;
  }
  return false;
}

bool fuse_bias(OnnxMatch& m, OnnxStep& step) {
  for (const std::size_t side : {0u, 1u}) {
    const int sum = step.inputs[side], bias = step.inputs[1 - side];
    const OnnxStep* product = m.producer(sum);
    if (!product || product->op != "MatMul" || product->inputs.size() != 2 || !m.read_once(sum)) continue;
    if (!m.value(product->inputs[1]).constant || !is_row(m.value(bias), m.value(sum))) continue;
    m.become(step, *product);
    step.inputs.push_back(bias);
    return true;
  }
  return false;
}

// Scale and shift of the channels go into the filter; the bias slot stays the convolution's own.
bool fuse_batch_norm(OnnxMatch& m, OnnxStep& step) {
  const OnnxStep* conv = m.producer(step.inputs[0]);
  if (!conv || !one_of(conv->op, {"Conv", "ConvTranspose"}) || conv->inputs.size() > 3 ||
      !m.read_once(step.inputs[0]) || !m.value(conv->inputs[1]).constant)
    return false;
  const int scale = step.inputs[1], shift = step.inputs[2];
  m.become(step, *conv);
  step.inputs.resize(3, -1);
  step.inputs.push_back(scale), step.inputs.push_back(shift);
  step.outputs.resize(1);
  return true;
}

// x cos + rotate(x) sin, where rotate joins the negated second half to the first.
bool fuse_rotary(OnnxMatch& m, OnnxStep& step) {
  for (const std::size_t side : {0u, 1u}) {
    const OnnxStep *plain = m.producer(step.inputs[side]), *turned = m.producer(step.inputs[1 - side]);
    if (!plain || !turned || plain->op != "Mul" || turned->op != "Mul") continue;
    for (const int half : turned->inputs) {
      const OnnxStep* joined = m.producer(half);
      if (!joined || joined->op != "Concat" || joined->inputs.size() != 2) continue;
      const OnnxStep *negated = m.producer(joined->inputs[0]), *other = m.producer(joined->inputs[1]);
      if (!negated || negated->op != "Neg" || !other || !one_of(other->op, {"Slice", "Split"})) continue;
      const int x = other->inputs[0];
      const std::size_t at = plain->inputs[0] == x ? 0 : 1;
      if (plain->inputs[at] != x || m.value(x).dims.size() != 4) continue;
      step.attention.emplace();
      const std::vector<Count>& d = m.value(x).dims;
      step.attention->batch = d[0], step.attention->heads = d[1], step.attention->q_len = d[2];
      step.attention->head_dim = d[3];
      step.op = "tilecast.Rotary", step.inputs = {m.past_layout(x), m.past_layout(plain->inputs[1 - at])};
      return true;
    }
  }
  return false;
}

// The product of queries and keys behind a softmax's input, through scales and masks; -1: none.
const OnnxStep* scores_of(const OnnxMatch& m, int id, bool& causal, int depth = 0) {
  const OnnxStep* step = m.producer(id);
  if (!step || depth > 12) return nullptr;
  if (step->op == "MatMul")
    return m.value(step->inputs[0]).constant || m.value(step->inputs[1]).constant ? nullptr : step;
  if (one_of(step->op, {"Cast", "Identity", "Dropout", "Reshape", "Clip"}))
    return scores_of(m, step->inputs[0], causal, depth + 1);
  if (!one_of(step->op, {"Add", "Mul", "Div", "Where", "Max"})) return nullptr;
  for (std::size_t i = step->op == "Where" ? 1 : 0; i < step->inputs.size(); ++i) {
    bool masked = causal;
    const OnnxStep* found = scores_of(m, step->inputs[i], masked, depth + 1);
    if (!found) continue;
    for (std::size_t other = 0; other < step->inputs.size(); ++other)
      if (other != i && step->has(other)) masked = masked || m.value(step->inputs[other]).causal;
    causal = masked;
    return found;
  }
  return nullptr;
}

bool fuse_attention(OnnxMatch& m, OnnxStep& step) {
  const OnnxStep* softmax = m.producer(m.past_casts(step.inputs[0]));
  if (softmax && softmax->op == "Where")  // rows without any key made zero
    for (const int branch : {softmax->inputs[1], softmax->inputs[2]})
      if (const OnnxStep* inner = m.producer(branch); inner && inner->op == "Softmax") {
        softmax = inner;
        break;
      }
  if (!softmax || softmax->op != "Softmax") return false;
  OnnxAttentionSizes s;
  const OnnxStep* scores = scores_of(m, softmax->inputs[0], s.causal);
  if (!scores) return false;
  const OnnxValue &q = m.value(scores->inputs[0]), &kt = m.value(scores->inputs[1]), &v = m.value(step.inputs[1]);
  const std::size_t rank = q.dims.size();
  if (rank < 3 || rank > 5 || kt.dims.size() != rank || v.dims.size() < 3) return false;
  s.batch = q.dims[0], s.q_len = q.dims[rank - 2], s.head_dim = q.dims[rank - 1], s.kv_len = kt.dims[rank - 1];
  s.v_dim = v.dims.back();
  const Count cells = s.batch * s.q_len * s.head_dim;
  if (cells < 1 || s.kv_len < 1 || s.v_dim < 1 || v.dims[v.dims.size() - 2] != s.kv_len) return false;
  s.heads = q.elements() / cells;
  // Keys that were repeated for every query head of a group are read once.
  int k = m.past_layout(scores->inputs[1], true), values = m.past_layout(step.inputs[1], true);
  const Count key = onnx_elements({s.batch, s.kv_len, s.head_dim}).value_or(0);
  s.kv_heads = key > 0 ? m.value(k).elements() / key : 0;
  if (s.kv_heads < 1 || s.heads % s.kv_heads != 0 || m.value(k).elements() % key != 0) {
    k = scores->inputs[1], values = step.inputs[1];
    s.kv_heads = s.heads;
  }
  step.op = "tilecast.Attention";
  step.attention = s;
  step.inputs = {m.past_layout(scores->inputs[0]), k, values};
  return true;
}

void rewrite(OnnxMatch& m, OnnxStep& step, const OnnxOptions& options) {
  if (one_of(step.op, {"Add", "Mul", "Div", "MatMul"}) && (!step.has(0) || !step.has(1))) return;
  if (step.op == "Mul")
    fuse_gelu(m, step) || fuse_norm(m, step) || fuse_affine(m, step) || fuse_product_activation(m, step);
  else if (step.op == "Div") fuse_norm(m, step);
  else if (step.op == "Add") fuse_affine(m, step) || fuse_bias(m, step) || fuse_rotary(m, step);
  else if (step.op == "MatMul") fuse_attention(m, step);
  else if (step.op == "BatchNormalization" && options.fold_batch_norm) fuse_batch_norm(m, step);
  else if (step.op == "RotaryEmbedding")
    if (auto sizes = onnx_rotary_sizes(step, m.net()); sizes) {
      const std::size_t cos = step.node->domain == "com.microsoft" ? 2 : 1;
      step.attention = *sizes, step.op = "tilecast.Rotary";
      step.inputs = {step.inputs[0], step.has(cos) ? step.inputs[cos] : -1};
    }
}

// Queries and keys rotated by the same angles are one kernel, if nothing between them needs the first.
void pair_rotaries(OnnxNet& net) {
  OnnxMatch m(net);
  std::vector<bool> gone(net.steps.size(), false);
  std::size_t first = net.steps.size();
  for (std::size_t i = 0; i < net.steps.size(); ++i) {
    OnnxStep& step = net.steps[i];
    if (step.op != "tilecast.Rotary" || step.inputs[1] < 0) continue;
    if (first < i && !gone[first]) {
      const OnnxStep& other = net.steps[first];
      const OnnxAttentionSizes a = *other.attention, b = *step.attention;
      const bool alike = other.inputs[1] == step.inputs[1] && a.batch == b.batch && a.q_len == b.q_len &&
                         a.head_dim == b.head_dim && other.outputs.size() == 1 && a.heads >= b.heads;
      if (alike && m.first_reader(other.outputs[0]) > i) {
        step.inputs = {other.inputs[0], step.inputs[0], step.inputs[1]};
        step.outputs = {other.outputs[0], step.outputs[0]};
        step.attention->heads = a.heads, step.attention->kv_heads = b.heads;
        step.name = other.name;
        gone[first] = true;
        first = net.steps.size();
        continue;
      }
    }
    first = i;
  }
  std::vector<OnnxStep> kept;
  for (std::size_t i = 0; i < net.steps.size(); ++i)
    if (!gone[i]) kept.push_back(std::move(net.steps[i]));
  net.steps = std::move(kept);
}

// Whether this reader can read a tensor by its strides and needs no transposed copy: pointwise kernels, copies,
// attention, products where only the last two axes change places, and parts of which that is true again.
bool reads_strided(const OnnxMatch& m, const OnnxStep& reader, bool last_two, int depth = 0) {
  if (one_of(reader.op, {"Concat", "Attention", "tilecast.Attention", "tilecast.Rotary"})) return true;
  if (reader.op == "MatMul") return last_two;
  const bool part = one_of(reader.op, {"Slice", "Split", "Squeeze", "Unsqueeze", "Cast", "Identity"}) ||
                    (reader.op == "Gather" && m.value(reader.inputs[1]).elements() == 1);
  if (part && depth < 4)
    return std::all_of(reader.outputs.begin(), reader.outputs.end(), [&](int id) {
      return id < 0 || (!m.value(id).output && m.all_readers(id, [&](const OnnxStep& next) {
               return reads_strided(m, next, false, depth + 1);
             }));
    });
  return is_among(find_onnx_rule(reader.op), onnx_pointwise_rules());
}

void free_transposes(OnnxNet& net) {
  const OnnxMatch m(net);
  for (OnnxStep& step : net.steps) {
    if (step.op != "Transpose") continue;
    const std::vector<Count> perm = step.node->integers("perm");
    const std::size_t rank = perm.size();
    const bool last_two = rank >= 2 && perm[rank - 1] == static_cast<Count>(rank) - 2 &&
                          perm[rank - 2] == static_cast<Count>(rank) - 1 &&
                          std::is_sorted(perm.begin(), perm.end() - 2);
    const OnnxStep* from = m.producer(step.inputs[0]);
    const bool by_attention = from && one_of(from->op, {"tilecast.Attention", "Attention"});
    if (by_attention || (!m.value(step.outputs[0]).output && m.all_readers(step.outputs[0], [&](const OnnxStep& r) {
          return reads_strided(m, r, last_two);
        })))
      step.op = "tilecast.View";
  }
}

}  // namespace

void fuse_onnx(OnnxNet& net, const OnnxOptions& options) {
  prune(net);
  {
    OnnxMatch m(net);
    for (OnnxStep& step : net.steps) rewrite(m, step, options);
  }
  prune(net);
  pair_rotaries(net);
  free_transposes(net);
}

}  // namespace tilecast
