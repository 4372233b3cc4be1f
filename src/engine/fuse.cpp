// Neighbours that engines run as one kernel.
#include <algorithm>

#include "engine/arrange.h"
#include "engine/rewriter.h"
#include "kernel/copy.h"
#include "kernel/elementwise.h"
#include "kernel/gemm.h"
#include "kernel/layernorm.h"
#include "kernel/rmsnorm.h"
#include "kernel/rope.h"

namespace tilecast {
namespace {

// Applies `rewrite(section)` to every section.
template <class Rewrite>
Graph each_section(const Graph& graph, Rewrite rewrite) {
  Graph result{graph.name, {}};
  for (const Section& section : graph.sections) result.sections.push_back(rewrite(section));
  return result;
}

bool reads(const Operator& op, int tensor) {
  return std::find(op.inputs.begin(), op.inputs.end(), tensor) != op.inputs.end();
}

// "attention.q", "attention.k" -> "attention.q+k"
std::string joined(const std::string& first, const std::string& second) {
  return first + "+" + second.substr(second.find('.') + 1);
}

bool of_scan(const Operator& op) { return op.block == scan_block || op.block == scan_gates_block; }

bool mergeable(const Operator& a, const Operator& b) {
  const auto* left = a.shape.get_if<Gemm>();
  const auto* right = b.shape.get_if<Gemm>();
  return left && right && a.inputs == b.inputs && left->m == right->m && left->k == right->k && a.block == b.block &&
         a.block != kNoBlock;
}

Section merge_projections(const Section& section, bool scans) {
  Section out = emptied(section);
  for (const Operator& op : section.operators) {
    if (out.operators.empty() || !mergeable(out.operators.back(), op) || (of_scan(op) && !scans)) {
      out.operators.push_back(op);
      continue;
    }
    Operator& merged = out.operators.back();
    auto& shape = merged.shape.as<Gemm>();
    shape.n += op.shape.as<Gemm>().n;
    merged.name = joined(merged.name, op.name);
    merged.weights.matrix += op.weights.matrix, merged.weights.vector += op.weights.vector;
    merged.outputs.insert(merged.outputs.end(), op.outputs.begin(), op.outputs.end());
  }
  return out;
}

bool residual_sum(const Operator& op) {
  const auto* e = op.shape.get_if<Elementwise>();
  return e && e->op == PointwiseOp::add && op.inputs.size() == 2 && op.role == Role::residual;
}

Section fuse_residual_norms(const Section& section) {
  Section out = emptied(section);
  for (std::size_t i = 0; i < section.operators.size(); ++i) {
    const Operator& op = section.operators[i];
    const Operator* next = i + 1 < section.operators.size() ? &section.operators[i + 1] : nullptr;
    const auto* norm = next ? next->shape.get_if<RmsNorm>() : nullptr;
    if (!norm || !residual_sum(op) || !reads(*next, op.outputs.front())) {
      out.operators.push_back(op);
      continue;
    }
    Operator fused = *next;
    auto& shape = fused.shape.as<RmsNorm>();
    shape.residual = true;
    fused.inputs = op.inputs;
    fused.outputs.push_back(op.outputs.front());  // the new stream is written as well
    out.operators.push_back(std::move(fused));
    ++i;
  }
  // The layer's last sum meets the next layer's first norm.
  const bool opens = !out.operators.empty() && out.operators.front().shape.is<RmsNorm>() &&
                     !out.operators.front().shape.as<RmsNorm>().residual;
  if (section.repeats > 1 && opens && residual_sum(out.operators.back())) {
    out.operators.front().shape.as<RmsNorm>().residual = true;
    out.operators.front().inputs.push_back(out.operators.front().inputs.front());
    out.operators.pop_back();
  }
  return out;
}

Section fuse_rope_write(const Section& section) {
  Section out = emptied(section);
  for (const Operator& op : section.operators) {
    const bool follows = !out.operators.empty() && out.operators.back().shape.is<Rope>() && op.shape.is<KvWrite>();
    if (!follows) {
      out.operators.push_back(op);
      continue;
    }
    // The rotation's kernel reads values too, and writes keys and values where they belong.
    Operator& fused = out.operators.back();
    auto& rope = fused.shape.as<Rope>();
    rope.kv_heads = 2 * (rope.kv_heads > 0 ? rope.kv_heads : rope.heads);
    fused.name += "+kv_write";
    fused.outputs.insert(fused.outputs.end(), op.outputs.begin(), op.outputs.end());
  }
  return out;
}

bool normalises(const Operator& op) { return op.shape.is<RmsNorm>() || op.shape.is<LayerNorm>(); }
bool stays_full(const Operator& op, bool narrow_norms) {
  if (op.outputs.empty()) return false;
  return op.shape.is<Embedding>() || (normalises(op) && !narrow_norms) || residual_sum(op) ||
         op.role == Role::embedding_sum;
}

Section autocast(const Section& section, bool narrow_norms) {
  SectionRewriter out(section);
  for (const Operator& op : section.operators)
    if (stays_full(op, narrow_norms)) out.set_kind(op.outputs.front(), TensorKind::statistic);
  const bool stream = !section.tensors.empty() && section.tensors.front().kind == TensorKind::activation;
  if (stream) out.set_kind(0, TensorKind::statistic);
  // A cast moves six bytes per element: the traffic of copying one and a half times as many two-byte elements.
  const auto cast = [&](const std::string& name, std::vector<int> inputs, Count elements) {
    return out.add(name, copy_of(elements + elements / 2), std::move(inputs), elements);
  };
  for (Operator op : section.operators) {
    out.pieces_of(op);
    if (op.shape.is<Gemm>() || (normalises(op) && narrow_norms)) {
      if (op.weights.matrix > 0) cast(op.name + ".cast_weight", {}, op.weights.matrix);
      for (int& input : op.inputs)
        if (out.kind(input) == TensorKind::statistic)
          input = cast(op.name + ".cast_input", {input}, out.elements(input));
    }
    out.keep(op);
  }
  return std::move(out).take();
}

// --- torch.compile ---

bool is_norm(const Shape& s) { return s.is<RmsNorm>() || s.is<LayerNorm>() || s.is<Softmax>(); }
bool fusible(const Operator& op) {
  if (op.unknown) return false;
  if (const auto* copy = op.shape.get_if<Copy>()) return !copy->transpose;
  return is_norm(op.shape) || op.shape.is<Elementwise>();  // a rotation and a gate are whole kernels already
}

// A run of operators of which each reads from an earlier one; at most one of them normalises rows.
struct Group {
  std::vector<const Operator*> members;
  bool produces(int tensor) const {
    return std::any_of(members.begin(), members.end(), [&](const Operator* m) {
      return std::find(m->outputs.begin(), m->outputs.end(), tensor) != m->outputs.end();
    });
  }
  bool takes(const Operator& op) const {
    if (!fusible(op)) return false;
    if (members.empty()) return true;
    const bool linked = std::any_of(op.inputs.begin(), op.inputs.end(), [&](int t) { return produces(t); });
    const auto norms =
        std::count_if(members.begin(), members.end(), [](const Operator* m) { return is_norm(m->shape); });
    return linked && !(is_norm(op.shape) && norms > 0);
  }
};

Operator fused(const Group& group, const Section& section) {
  const Operator& last = *group.members.back();
  Operator op = last;
  op.walk = TorchWalk::vectorized;
  op.inputs.clear();
  op.weights = {};
  Count read = 0;
  const Operator* norm = nullptr;
  for (const Operator* m : group.members) {
    op.weights.matrix += m->weights.matrix, op.weights.vector += m->weights.vector;
    if (is_norm(m->shape)) norm = m;
    for (int t : m->inputs)
      if (!group.produces(t) && !std::count(op.inputs.begin(), op.inputs.end(), t)) {
        op.inputs.push_back(t);
        read += section.tensors[static_cast<std::size_t>(t)].elements;
      }
  }
  const Count written = section.tensors[static_cast<std::size_t>(last.outputs.front())].elements;
  const Count inputs = std::max<Count>(1, (read + written / 2) / std::max<Count>(1, written));
  op.name = group.members.front()->name + "..." + last.name;
  if (!norm) {
    op.shape = elementwise(PointwiseOp::gelu, inputs, written);
    return op;
  }
  op.shape = norm->shape;
  const auto* layer = norm->shape.get_if<LayerNorm>();
  if (layer && inputs > 1) {  // reads and writes the stream as well: the traffic of a fused RMSNorm
    RmsNorm both;
    both.rows = layer->rows, both.cols = layer->cols;
    op.shape = both;
  }
  if (auto* rms = op.shape.get_if<RmsNorm>()) rms->residual = inputs > 1;
  return op;
}

// Generated kernels compute offsets as cheaply as contiguous ones do. Conversions read and write the same as before: as
// many bytes to half the width as to twice.
TorchWalk generated(TorchWalk walk) {
  switch (walk) {
    case TorchWalk::widen:
    case TorchWalk::strided_widen:
    case TorchWalk::narrow: return TorchWalk::narrow;
    default: return TorchWalk::vectorized;
  }
}

Section fuse_pointwise(const Section& spelled) {
  Section section = spelled;
  for (Operator& op : section.operators) op.walk = generated(op.walk);
  Section out = emptied(section);
  Group group;
  const auto flush = [&] {
    if (group.members.size() == 1) out.operators.push_back(*group.members.front());
    else if (!group.members.empty()) out.operators.push_back(fused(group, section));
    group.members.clear();
  };
  for (const Operator& op : section.operators) {
    if (!group.takes(op)) flush();
    if (group.takes(op)) group.members.push_back(&op);
    else out.operators.push_back(op);
  }
  flush();
  return out;
}

}  // namespace

Graph with_autocast(const Graph& graph, bool narrow_norms) {
  return each_section(graph, [&](const Section& section) { return autocast(section, narrow_norms); });
}
Graph merged_projections(const Graph& graph, bool scans) {
  return each_section(graph, [&](const Section& section) { return merge_projections(section, scans); });
}
Graph fused_residual_norms(const Graph& graph) { return each_section(graph, fuse_residual_norms); }
Graph fused_rope_write(const Graph& graph) { return each_section(graph, fuse_rope_write); }
Graph fused_pointwise(const Graph& graph) { return each_section(graph, fuse_pointwise); }

}  // namespace tilecast
