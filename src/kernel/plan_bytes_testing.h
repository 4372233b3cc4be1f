// For tests that look at single operands, and at what a plan of several launches cannot avoid moving.
#pragma once

#include "kernel/plan_testing.h"

namespace tilecast {

template <class Shape>
Plan on_h100(const Shape& shape, std::string_view dtype) {
  return planned(shape, dtype, "H100-SXM");
}

// Bytes of an operand by name; zero when there is none.
inline double bytes_of(const Launch& launch, std::string_view name) {
  for (const Operand& operand : launch.operands)
    if (operand.name == name) return in_bytes(operand.size);
  return 0;
}

struct Compulsory {
  double read = 0, written = 0;
};
inline Compulsory compulsory(const Plan& plan) {
  Compulsory sum;
  for (const Launch& launch : plan.launches)
    for (const Operand& operand : launch.operands) {
      if (operand.role == Operand::Role::workspace) continue;
      if (operand.read) sum.read += in_bytes(operand.least());
      if (operand.written) sum.written += in_bytes(operand.least());
    }
  return sum;
}

}  // namespace tilecast
