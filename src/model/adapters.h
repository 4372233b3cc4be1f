// Low-rank adapters beside frozen products (LoRA): y = W x + s B A x, where only A and B are trained.
#pragma once

#include "model/graph.h"
#include "model/spec.h"

namespace tilecast {

// The forward graph with its weights frozen and, after each targeted product of a layer, a product down to the rank,
// one back up, a scale and a sum.
Graph with_adapters(const Graph& forward, const AdapterSpec& adapters);

bool has_adapter(Role role, AdapterTargets targets);

}  // namespace tilecast
