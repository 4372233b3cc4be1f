// Training: what the gradients of a network cost, operator by operator.
#pragma once

#include "model/graph.h"
#include "tilecast/run.h"
#include "tilecast/train.h"

namespace tilecast {

struct TrainingOptions {
  Recomputation recompute = {};
  // A recomputed layer stops once everything that gradients read is available: before its last product, whose result
  // only the next layer read (torch.utils.checkpoint, not reentrant, from 2.1 on: "early stop"; torch.compile drops it
  // as dead).
  bool stops_early = true;
  // Gradients are added to those of an earlier pass instead of replacing them (gradient accumulation, or frameworks
  // that never drop the buffers).
  bool accumulate = false;
  TrainPrecision precision = TrainPrecision::none;
  Count micro_batches = 1;  // that weights are cast once for, where a framework keeps what it cast
  bool reference = false;   // every section also runs forward in a frozen copy, or without its adapters (DPO)
  GradientSum gradient_sum = GradientSum::apart;
  bool wide_sums =
      false;  // ... which are fp32: a product that accumulates into them reads and writes four bytes per weight
};

// The forward sections, then the gradients of each in reverse order. Every operator gets the kernels its gradient runs;
// a tensor read by several operators gets the additions that sum its gradients.
Graph with_backward(const Graph& forward, const TrainingOptions& options);

// Latent attention once its keys and values are expanded: the same products, so the same gradients.
AttentionPrefill as_prefill(const MlaPrefill& mla);

// Indices of the section's tensors that its gradients read: what must stay in memory after the forward pass. Sorted.
// With `pointwise_again`, as in torch.compile, the results of pointwise kernels and norms are recomputed from their
// inputs.
std::vector<int> saved_tensors(const Section& section, bool pointwise_again = false);

// Recomputed or additional operators own no weights; packed weights are unpacked again.
void disown(Section& section);

}  // namespace tilecast
