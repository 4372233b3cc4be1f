// What PyTorch's host takes to issue operators, by kind: multiples of a plain addition's time, which tells how fast the host
// is. An operator's own way through the dispatcher, and the views and Python that go with it.
#pragma once

#include "engine/engine.h"

namespace tilecast {

// What stands around the operators.
enum class HostCode : std::uint8_t {
  operators,  // they are called one after the other
  modules     // ... from modules, as transformers writes them
};

// An operator by itself.
double operator_units(const Shape& shape);
// A step's additions, operator by operator.
double host_units(const Program& program, HostCode code);
// The mean of a program's launches on a host that takes so long for an addition.
Seconds launch_time(const Program& program, HostCode code, Seconds addition);

}  // namespace tilecast
