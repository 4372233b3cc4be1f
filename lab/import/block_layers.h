// What the tables of single layers of a transformer block share (Vidur's, LLMServingSim's): how they name a model's
// sizes, and the shapes of one rank's share that follow from them.
#pragma once

#include <algorithm>

#include "kernel/embedding.h"
#include "kernel/gated_activation.h"
#include "kernel/gemm.h"
#include "lab/import/import_table.h"

namespace tilecast {

struct BlockColumns {
  BlockColumns(Cells& c, std::string_view rows)
      : gpu(c.column("gpu")),
        op(c.column("op")),
        dtype(c.column("dtype")),
        latency(c.column("latency_us")),
        tokens(c.column(rows)),
        tp(c.column("tp")),
        hidden(c.column("hidden_size")),
        heads(c.column("num_heads")),
        kv_heads(c.column("num_kv_heads")),
        head_dim(c.column("head_dim")),
        inter(c.column("intermediate_size")),
        vocab(c.column("vocab_size")) {}
  Column gpu, op, dtype, latency, tokens, tp, hidden, heads, kv_heads, head_dim, inter, vocab;
};

// The sizes of one row.
struct BlockRow {
  BlockRow(Cells& cells, const BlockColumns& columns)
      : c(cells), at(columns), op(c.text(at.op)), tp(std::max<Count>(1, c.count(at.tp))) {}

  Count tokens() const { return c.count(at.tokens); }
  Count hidden() const { return c.count(at.hidden); }
  Count inter() const { return c.count(at.inter) / tp; }

  // Of attention, or of its rotation.
  template <class Attention>
  void fill_heads(Attention& shape) const {
    shape.heads = c.count(at.heads) / tp, shape.kv_heads = c.count(at.kv_heads) / tp;
    shape.head_dim = c.count(at.head_dim);
  }
  GatedActivation gated_activation() const {
    GatedActivation shape;
    shape.rows = tokens(), shape.cols = inter();
    return shape;
  }
  Embedding embedding() const {
    Embedding shape;
    shape.tokens = tokens(), shape.vocab = c.count(at.vocab), shape.cols = hidden();
    return shape;
  }

  Cells& c;
  const BlockColumns& at;
  std::string_view op;
  Count tp;
};

}  // namespace tilecast
