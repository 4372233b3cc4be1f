// Layers as Megatron Core and Transformer Engine train them, as far as that differs from the operators of a graph.
#pragma once

#include "model/graph.h"

namespace tilecast {

// Experts as grouped products: tokens are put in the order of their experts, each of the two products runs over all
// experts of the rank at once, none is dropped (Megatron's TEGroupedMLP), and the results are put back in order and
// summed.
Graph with_grouped_products(const Graph& forward);

// Gradients of norms over single heads: a kernel limited by memory traffic, not PyTorch's, which was made for wide
// rows.
Graph with_head_norm_gradients(const Graph& step);

}  // namespace tilecast
