#include "model/backward.h"

#include <algorithm>
#include <set>

#include "kernel/shapes.h"
#include "model/recomputation.h"
#include "model/section_builder.h"
#include "support/overload.h"

namespace tilecast {

void disown(Section& section) {
  for (Operator& op : section.operators) {
    const bool unpacks = op.weights.packed;
    op.weights = {};
    op.weights.packed = unpacks;
  }
}

namespace {

Shape gemm_of(Count m, Count n, Count k, Layout layout) {
  Gemm g;
  g.m = m, g.n = n, g.k = k, g.layout = layout;
  return g;
}
Shape bmm_of(Count batch, Count m, Count n, Count k) {
  Bmm b;
  b.batch = batch, b.m = m, b.n = n, b.k = k;
  return b;
}
template <class S>
Shape gradient_form(S shape) {
  shape.backward = true;
  return shape;
}

// Gradients of queries, keys and values that came from one projection are concatenated again.
Shape packed(const AttentionPrefill& a) {
  const Count kv_heads = a.kv_heads > 0 ? a.kv_heads : a.heads;
  Copy copy;
  copy.elements = std::max<Count>(1, a.batch * a.q_len * (a.heads + 2 * kv_heads) * a.head_dim);
  return copy;
}

enum class GradientOf : std::uint8_t { input, weight, bias };
struct Gradient {
  std::string suffix;
  Shape shape;
  GradientOf of = GradientOf::input;
};
using Gradients = std::vector<Gradient>;

// Autograd's kernels (derivatives.yaml): a sum passes its gradient on; a product multiplies it by the other factor,
// once for each tensor; a power takes the power below, its exponent and the gradient; functions have one kernel.
Gradients pointwise_gradients(const Operator& op, const Elementwise& e) {
  const auto plain = [&](PointwiseOp f, Count inputs) {
    Elementwise kernel;
    kernel.elements = e.count(), kernel.op = f, kernel.inputs = inputs;
    return Gradient{"grad", kernel};
  };
  if (op.spelling == Spelling::dropout) return {plain(PointwiseOp::mul, 2)};  // by the mask
  switch (e.op) {
    case PointwiseOp::add: return {};
    case PointwiseOp::copy: return {plain(PointwiseOp::copy, 1)};
    case PointwiseOp::mul:
    case PointwiseOp::div:
      if (e.inputs < 2) return {plain(e.op, 1)};
      return {plain(PointwiseOp::mul, 2), plain(PointwiseOp::mul, 2)};
    case PointwiseOp::pow:
    case PointwiseOp::square: return {plain(e.op, 1), plain(PointwiseOp::mul, 1), plain(PointwiseOp::mul, 2)};
    default: return {{"grad", gradient_form(e)}};
  }
}

// Kernels of an operator's gradients with respect to its inputs and weights.
Gradients gradients_of(const Operator& op) {
  return visit(Overload{
                   [&](const Gemm& g) {
                     Gradients list = {{"grad_input", gemm_of(g.m, g.k, g.n, Layout::nn)}};
                     if (op.weights.frozen) return list;
                     list.push_back({"grad_weight", gemm_of(g.n, g.k, g.m, Layout::nt), GradientOf::weight});
                     if (op.weights.vector > 0) {
                       Reduction sum;  // over tokens, of every column
                       sum.rows = g.n, sum.cols = g.m;
                       list.push_back({"grad_bias", sum, GradientOf::bias});
                     }
                     return list;
                   },
                   [](const Bmm& b) {
                     return Gradients{{"grad_left", bmm_of(b.batch, b.m, b.k, b.n)},
                                      {"grad_right", bmm_of(b.batch, b.k, b.n, b.m)}};
                   },
                   [](const Conv2d& c) {
                     Conv2d data = c, weight = c;
                     data.backward = ConvBackward::data, weight.backward = ConvBackward::weight;
                     return Gradients{{"grad_input", data}, {"grad_weight", weight, GradientOf::weight}};
                   },
                   [&](const AttentionPrefill& a) {
                     Gradients list = {{"grad", AttentionBackward{a}}};
                     if (op.inputs.size() == 1)
                       list.push_back({"grad_pack", packed(a)});  // of queries, keys and values
                     return list;
                   },
                   [](const MlaPrefill& a) {
                     return Gradients{{"grad", AttentionBackward{as_prefill(a)}}};
                   },
                   // Two products for each of the forward's, of the same sizes.
                   [&](const Moe& m) {
                     Gradients list = {{"grad_input", m}};
                     if (!op.weights.frozen) list.push_back({"grad_weight", m, GradientOf::weight});
                     return list;
                   },
                   [](const Scan& s) {
                     return Gradients{{"grad_state", s}, {"grad_input", s}};
                   },
                   [](const RmsNorm& n) {
                     return Gradients{{"grad", gradient_form(n)}};
                   },
                   [](const LayerNorm& n) {
                     return Gradients{{"grad", gradient_form(n)}};
                   },
                   [](const Softmax& s) {
                     return Gradients{{"grad", gradient_form(s)}};
                   },
                   [](const GatedActivation& a) {
                     return Gradients{{"grad", gradient_form(a)}};
                   },
                   [](const CrossEntropy& c) {
                     return Gradients{{"grad", gradient_form(c)}};
                   },
                   [&](const Embedding& e) {
                     return op.weights.frozen ? Gradients{} : Gradients{{"grad", gradient_form(e)}};
                   },
                   [&](const Elementwise& e) { return pointwise_gradients(op, e); },
                   [](const Rope& r) {
                     return Gradients{{"grad", r}};
                   },
                   [](const Copy& c) {
                     return Gradients{{"grad", c}};
                   },
                   [](const Reduction& r) {
                     Elementwise spread;
                     spread.rows = r.rows, spread.cols = r.cols, spread.op = PointwiseOp::copy;
                     return Gradients{{"grad", spread}};
                   },
                   [](const Custom& c) {
                     return Gradients{{"grad", c}};
                   },
                   [](const auto&) { return Gradients{}; },  // nothing to learn from: cache writes, sampling, optimizer
               },
               op.shape);
}

// A gradient goes the other way: conversions are reversed, and concatenated tensors are split.
TorchWalk gradient_walk(TorchWalk walk) {
  switch (walk) {
    case TorchWalk::widen:
    case TorchWalk::strided_widen: return TorchWalk::narrow;
    case TorchWalk::narrow: return TorchWalk::widen;
    case TorchWalk::strided:
    case TorchWalk::cat: return TorchWalk::strided;
    case TorchWalk::transposed: return TorchWalk::transposed;
    case TorchWalk::vectorized:
    case TorchWalk::index: return TorchWalk::vectorized;
  }
  return TorchWalk::vectorized;
}

bool has_gradient(const Tensor& tensor) { return tensor.kind != TensorKind::index && tensor.kind != TensorKind::mask; }

// Writes the gradient operators of one section.
class BackwardWriter {
 public:
  BackwardWriter(const Section& forward, const TrainingOptions& options)
      : forward_(forward),
        accumulate_(options.accumulate),
        wide_(options.wide_sums),
        sum_(options.gradient_sum),
        out_(forward.name, forward.repeats, forward.part) {
    for (const Tensor& t : forward.tensors) out_.tensor(t.name, t.elements, t.kind);
    readers_.resize(forward.tensors.size());
    for (const Operator& op : forward.operators)
      for (int i : op.inputs) ++readers_[static_cast<std::size_t>(i)];
    gradient_.assign(forward.tensors.size(), -1);
  }
  Section write() && {
    for (auto op = forward_.operators.rbegin(); op != forward_.operators.rend(); ++op) differentiate(*op);
    Section section = std::move(out_).finish();
    section.pass = Pass::backward;
    return section;
  }

 private:
  // The gradient of a tensor, summed over those who read it.
  int gradient(int tensor) {
    int& grad = gradient_[static_cast<std::size_t>(tensor)];
    const Count elements = out_.elements(tensor);
    if (grad < 0) grad = out_.tensor(forward_.tensors[static_cast<std::size_t>(tensor)].name + ".grad", elements);
    return grad;
  }
  TensorKind kind_of(int tensor) const { return forward_.tensors[static_cast<std::size_t>(tensor)].kind; }
  void differentiate(const Operator& op) {
    if (op.outputs.empty()) return;  // nothing downstream depends on it
    const int incoming = gradient(op.outputs.front());
    std::vector<int> read = {incoming};
    read.insert(read.end(), op.inputs.begin(), op.inputs.end());
    int last = incoming;
    for (const Gradient& g : gradients_of(op)) {
      last = out_.add(op.role, op.name + "." + g.suffix, g.shape, read,
                      op.inputs.empty() ? 0 : out_.elements(op.inputs.front()));
      out_.last().times = op.times, out_.last().block = kNoBlock;
      out_.last().weight_gradient = g.of != GradientOf::input;
      out_.last().walk = gradient_walk(op.walk);
      out_.last().stays_wide = op.stays_wide;
      out_.last().weights.frozen = op.weights.frozen, out_.last().weights.packed = op.weights.packed;
      if (!op.inputs.empty() && kind_of(op.inputs.front()) == TensorKind::statistic)
        out_.set_kind(last, TensorKind::statistic);
      if (g.of == GradientOf::weight) accumulate(op);
    }
    const bool product = op.shape.is<Gemm>() || op.shape.is<Moe>();
    if (op.weights.table || (op.weights.total() > 0 && !product)) accumulate(op);
    for (int input : op.inputs) sum(input, last);
  }
  // A second reader's gradient is added to the first's.
  void sum(int input, int partial) {
    const auto i = static_cast<std::size_t>(input);
    if (!has_gradient(forward_.tensors[i])) return;
    int& grad = gradient_[i];
    if (grad < 0) {
      grad = partial;
      return;
    }
    grad = out_.pointwise(Role::other, forward_.tensors[i].name + ".grad_sum" + std::to_string(--readers_[i]),
                          PointwiseOp::add, {grad, partial}, out_.elements(input));
  }
  void accumulate(const Operator& op) {
    // fp32 buffers treat the first micro-batch's gradients like any other's.
    if ((!accumulate_ && sum_ != GradientSum::widened) || op.weights.frozen ||
        op.weights.matrix + op.weights.vector == 0)
      return;
    const bool product = op.shape.is<Gemm>() || op.shape.is<Moe>();
    const Count elements = op.weights.matrix + op.weights.vector;
    if (sum_ == GradientSum::in_product && product) {
      if (wide_) add_in_product(op, elements);
      return;
    }
    const int held = out_.tensor(op.name + ".grad_held", elements);
    const int sum = out_.pointwise(op.role, op.name + ".accumulate", PointwiseOp::add, {held, held}, elements);
    if (sum_ == GradientSum::widened) out_.set_kind(sum, TensorKind::statistic);
  }

  // What the product's epilogue moves beyond a result of two bytes: six more, as a copy of half as many again.
  void add_in_product(const Operator& op, Count elements) {
    Copy traffic;
    traffic.elements = elements + elements / 2;
    out_.add(op.role, op.name + ".accumulate", traffic, {}, elements);
    out_.last().weight_gradient = true;
  }

  const Section& forward_;
  bool accumulate_;
  bool wide_;
  GradientSum sum_;
  SectionBuilder out_;
  std::vector<int> readers_, gradient_;
};

// A frozen copy runs forward: the same products, or those that have adapters.
Section of_reference(const Section& forward) {
  Section section = forward;
  section.reference = true;
  section.name += " (reference)";
  std::erase_if(section.operators, [](const Operator& op) { return op.role == Role::adapter; });
  disown(section);
  return section;
}

}  // namespace

AttentionPrefill as_prefill(const MlaPrefill& mla) {
  AttentionPrefill a;
  a.batch = mla.batch, a.q_len = mla.q_len, a.kv_len = mla.kv_len, a.lens = mla.lens, a.kv_lens = mla.kv_lens;
  a.heads = a.kv_heads = mla.heads;
  a.head_dim = mla.nope_dim + mla.rope_dim, a.v_head_dim = mla.v_dim;
  return a;
}

Graph with_backward(const Graph& forward, const TrainingOptions& options) {
  Graph graph = forward;
  const auto follows = [&](Section section, std::size_t of) {
    section.forward = static_cast<int>(of);
    graph.sections.push_back(std::move(section));
  };
  if (options.reference)
    for (std::size_t i = 0; i < forward.sections.size(); ++i) follows(of_reference(forward.sections[i]), i);
  for (std::size_t i = forward.sections.size(); i-- > 0;) {
    const Section& section = forward.sections[i];
    if (Section again = section_again(section, options.recompute, options.stops_early); !again.operators.empty())
      follows(std::move(again), i);
    follows(BackwardWriter(section, options).write(), i);
  }
  return graph;
}

namespace {

bool cheap_to_repeat(const Shape& shape) {
  return shape.is<Elementwise>() || shape.is<GatedActivation>() || shape.is<RmsNorm>() || shape.is<LayerNorm>() ||
         shape.is<Copy>() || shape.is<Rope>();
}

}  // namespace

std::vector<int> saved_tensors(const Section& section, bool pointwise_again) {
  std::set<int> saved;
  const auto inputs = [&](const Operator& op) { saved.insert(op.inputs.begin(), op.inputs.end()); };
  const auto output = [&](const Operator& op) { saved.insert(op.outputs.begin(), op.outputs.end()); };
  for (const Operator& op : section.operators) {
    visit(Overload{
              [&](const Elementwise& e) {
                if (op.spelling == Spelling::dropout) return;  // its byte an element: model/memory.cpp
                if (e.op == PointwiseOp::add || e.op == PointwiseOp::copy) return;
                const bool product = e.op == PointwiseOp::mul || e.op == PointwiseOp::div;
                if (product && op.inputs.size() < 2 && op.weights.total() == 0) return;  // by a constant
                if (e.op == PointwiseOp::relu || e.op == PointwiseOp::tanh || e.op == PointwiseOp::exp) output(op);
                else inputs(op);
              },
              [&](const Softmax&) { output(op); },
              [&](const AttentionPrefill&) { inputs(op), output(op); },
              [&](const MlaPrefill&) { inputs(op), output(op); },
              [&](const Gemm&) {
                if (!op.weights.frozen) inputs(op);
              },
              [&](const Copy&) {},
              [&](const Rope&) {},
              [&](const Reduction&) {
                if (op.spelling == Spelling::fused_loss) inputs(op);
              },
              [&](const auto&) { inputs(op); },
          },
          op.shape);
  }
  if (pointwise_again)
    for (const Operator& op : section.operators)
      if (cheap_to_repeat(op.shape))
        for (int t : op.outputs) saved.erase(t);
  return {saved.begin(), saved.end()};
}

}  // namespace tilecast
