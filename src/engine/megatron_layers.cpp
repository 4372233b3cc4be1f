#include "engine/megatron_layers.h"

#include <algorithm>

#include "engine/rewriter.h"
#include "kernel/elementwise.h"
#include "kernel/gated_activation.h"
#include "kernel/gemm.h"
#include "kernel/moe.h"
#include "kernel/rmsnorm.h"

namespace tilecast {
namespace {

Gemm product(Count m, Count n, Count k) {
  Gemm shape;
  shape.m = m, shape.n = n, shape.k = k;
  return shape;
}

// One Moe operator in pieces; weights belong to the products that own them, biases to the second.
void group(SectionRewriter& out, const Operator& op, const Moe& moe) {
  const Count local = moe.local_experts(), inter = moe.local_inter(), hidden = moe.hidden;
  const Count rows = std::max<Count>(1, moe.tokens * moe.topk * local / std::max<Count>(1, moe.experts));
  const Count wide = (moe.gated ? 2 : 1) * inter, own = out.elements(op.outputs.front());
  const auto owns = [&](Count matrix, Count vector) {
    out.last().weights.matrix = matrix, out.last().weights.vector = vector;
    out.last().weights.frozen = op.weights.frozen;
    out.last().stays_wide = op.stays_wide;
  };
  out.pieces_of(op);
  const int sorted = out.add(op.name + ".permute", copy_of(rows * hidden), {op.inputs.front()}, rows * hidden);
  const int up = out.add(op.name + ".up", product(rows, wide, hidden), {sorted}, rows * wide);
  owns(local * wide * hidden, 0);
  int inner = 0;
  if (moe.gated) {
    GatedActivation act;
    act.rows = rows, act.cols = inter;
    inner = out.add(op.name + ".act", act, {up}, rows * inter);
  } else {
    inner = out.pointwise(op.name + ".act", PointwiseOp::gelu, {up}, rows * inter);
  }
  const int down = out.add(op.name + ".down", product(rows, hidden, inter), {inner}, rows * hidden);
  owns(local * hidden * inter, op.weights.vector);
  // Reads a row for every expert of a token, writes one.
  out.finish(op, ".unpermute", copy_of((rows * hidden + own) / 2), {down, op.inputs.back()});
  out.last().weights = {};
}

constexpr Count kHeadWidth = 256;  // no head is wider

}  // namespace

Graph with_grouped_products(const Graph& forward) {
  Graph graph{forward.name, {}};
  for (const Section& section : forward.sections) {
    SectionRewriter out(section);
    for (const Operator& op : section.operators)
      if (const auto* moe = op.shape.get_if<Moe>()) group(out, op, *moe);
      else out.keep(op);
    graph.sections.push_back(std::move(out).take());
  }
  return graph;
}

Graph with_head_norm_gradients(const Graph& step) {
  Graph graph = step;
  for (Section& section : graph.sections)
    for (Operator& op : section.operators)
      if (const auto* norm = op.shape.get_if<RmsNorm>(); norm && norm->backward && norm->cols <= kHeadWidth)
        op.shape = elementwise(PointwiseOp::mul, 2, norm->rows * norm->cols);
  return graph;
}

}  // namespace tilecast
