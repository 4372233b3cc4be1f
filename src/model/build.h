// From a transformer's sizes and a workload to its operators.
#pragma once

#include "model/graph.h"
#include "model/spec.h"
#include "model/workload.h"
#include "tilecast/result.h"

namespace tilecast {

// Sections: what comes before the layers, one for every kind of layer (repeated), what comes after. Rejects a workload
// that the model cannot run (decode of an encoder, more tokens than learned positions, no tokens).
Result<Graph> build(const ModelSpec& spec, const Workload& workload);

// The kinds of layers of a stack, each with how many there are, in the order of their sections; and for every layer of
// the stack, in its own order, which kind it is.
struct LayerKinds {
  std::vector<LayerRun> kinds;
  std::vector<int> order;
};
LayerKinds layer_kinds(const StackSpec& stack);

}  // namespace tilecast
