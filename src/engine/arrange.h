// The graph transformations that engines consist of.
#pragma once

#include "engine/kinds.h"
#include "model/graph.h"

namespace tilecast {

struct SpellingOptions {
  bool eager_attention = false;  // else one fused attention kernel (scaled_dot_product_attention)
  bool math_attention = false;   // ... but PyTorch's fallback in fp32 where a mask rules that out
  bool dropout = false;
  bool low_precision = false;       // norms cast to fp32 and back
  bool static_cache = false;        // the cache is written in place, not concatenated anew
  bool fused_norm = false;          // RMSNorm and GELU have a kernel each (torch.nn.functional), not pieces
  bool fused_layers = false;        // ... and rotations, gates and experts
  bool compiled = false;            // a compiler finds attention in its pieces; a rotation and a gate are a kernel each
  bool merged_projections = false;  // gate and values are halves of one product's result
  bool wide_rotation = false;       // rotations in fp32, by halves, not as Hugging Face does
  LossForm loss = LossForm::separate;
};
// Operators as Hugging Face's modules call them, one kernel each: norms, rotations, gated activations and experts are
// split into pieces.
Graph spelled_out(const Graph& graph, const SpellingOptions& options);

// PyTorch's autocast over fp32 parameters: embeddings, norms and the residual stream stay in fp32; before every product
// a kernel casts its weights, and another its input if that is fp32. `narrow_norms`: what norms read is cast as well
// (MosaicML's low-precision LayerNorm).
Graph with_autocast(const Graph& graph, bool narrow_norms = false);

// Projections of the same input become one product (QKV, gate and up); those of linear attention with `scans` alone.
Graph merged_projections(const Graph& graph, bool scans = true);
// A residual sum and the RMSNorm that reads it become one kernel.
Graph fused_residual_norms(const Graph& graph);
// Rotation and cache write become one kernel (TensorRT-LLM).
Graph fused_rope_write(const Graph& graph);
// Chains of pointwise kernels and norms become one each (torch.compile), and none walks its tensors the way PyTorch's
// own kernels do.
Graph fused_pointwise(const Graph& graph);

}  // namespace tilecast
