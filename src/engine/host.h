// What an engine's host program, and how it launches, add to the kernels' time, by engine and era.
#pragma once

#include "engine/kinds.h"
#include "kernel/kernel.h"
#include "model/graph.h"
#include "tilecast/units.h"

namespace tilecast {

// What stands around the operators that a host issues.
enum class HostCode : std::uint8_t {
  uniform,    // nothing that would tell them apart: compiled code, kernels of an engine's own
  operators,  // PyTorch's operators, called one after the other
  modules     // ... from modules, as transformers writes them
};

// What the host does in a step. Launches run ahead of the GPU, so a step takes the longer of the two streams; what
// stands between steps (scheduling, sampling's result, Python) waits for the GPU.
struct HostCost {
  Seconds per_launch;    // of one kernel, from the operator's call to the next one's; PyTorch: of a plain addition
  Seconds per_step;      // whatever is launched
  Seconds per_sequence;  // of every request in the batch, each step
  // On the GPU, from a kernel to the next, an unlike one: its code, its parameters and its first CTAs have to come.
  // Forecasts of kernels are of many alike in a row, where they are there already.
  Seconds switching;
  HostCode code = HostCode::uniform;
};

HostCost host_cost(EngineKind kind, EngineEra era = EngineEra::current);

// What an operator takes of the host over a plain addition: its own way through the dispatcher, and the views and Python
// that go with it. In a training step (`trains`) it is recorded for autograd, or is a gradient's.
double host_units(const HostCost& host, const Shape& shape, bool trains, Pass pass);

}  // namespace tilecast
