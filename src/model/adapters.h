// Adapters of low rank beside frozen products (LoRA): y = W x + s B A x, of which A and B alone learn.
#pragma once

#include "model/graph.h"
#include "model/spec.h"

namespace tilecast {

// The forward graph with its weights frozen and, behind each targeted product of a layer, a product down to the rank,
// one up again, a scale and a sum.
Graph with_adapters(const Graph& forward, const AdapterSpec& adapters);

bool has_adapter(Role role, AdapterTargets targets);

}  // namespace tilecast
