// Layers as Megatron Core and Transformer Engine train them, where that differs from the operators of a graph.
#pragma once

#include "model/graph.h"

namespace tilecast {

// Experts as grouped products: tokens are put in the order of their experts, each of the two products runs over all
// experts of the rank at once, none is dropped (Megatron's TEGroupedMLP), and what comes out is put back and summed.
Graph with_grouped_products(const Graph& forward);

// Gradients of norms over single heads: a kernel of the traffic's speed, not PyTorch's, which was made for wide rows.
Graph with_head_norm_gradients(const Graph& step);

}  // namespace tilecast
