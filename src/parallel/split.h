// One rank's share of a model, as a model of its own: smaller sizes, the same code builds, fuses and prices it.
//
// Tensor parallelism divides heads, widths and the vocabulary; experts go to expert parallel ranks; tokens to context
// and data parallel ones. Pipeline stages are counted in layers (parallel/forecast.cpp): all ranks of a stage are
// alike.
#pragma once

#include "engine/run.h"
#include "parallel/layout.h"

namespace tilecast {

// The model as one tensor and expert parallel rank holds it, with all its layers. The layout has passed check().
ModelSpec rank_spec(const ModelSpec& spec, const RankLayout& layout);

// What one rank computes of a workload that is its data parallel group's: the layers' operators in the rank's sizes.
// Context parallelism leaves it a share of every sequence's tokens, sequence parallelism a share of norms and sums.
Result<Graph> rank_graph(const ModelSpec& spec, const RankLayout& layout, const Workload& workload);

// Operators that every tensor parallel rank repeats in full: routers, the narrow projections of latent attention, norms
// without sequence parallelism.
bool is_repeated(const Operator& op, const RankLayout& layout);

}  // namespace tilecast
