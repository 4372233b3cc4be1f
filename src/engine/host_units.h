// The time PyTorch's host takes to issue operators, by kind, in multiples of a plain addition's time, which measures
// how fast the host is: an operator's own path through the dispatcher, and the views and Python that go with it.
#pragma once

#include "engine/engine.h"

namespace tilecast {

// What surrounds the operators.
enum class HostCode : std::uint8_t {
  operators,  // they are called one after the other
  modules     // ... from modules, as transformers writes them
};

// An operator on its own.
double operator_units(const Shape& shape);
// A step's additions, operator by operator.
double host_units(const Program& program, HostCode code);
// The mean time of a program's launches on a host that takes this long for an addition.
Seconds launch_time(const Program& program, HostCode code, Seconds addition);

}  // namespace tilecast
