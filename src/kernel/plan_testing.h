// For the tests of kernel families only.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "gpu/registry.h"
#include "kernel/context.h"
#include "kernel/format.h"
#include "kernel/plan.h"

namespace tilecast {

// The plan of a shape that must have one, by the names of its type and GPU.
template <class Shape>
Plan planned(const Shape& shape, std::string_view dtype, std::string_view gpu) {
  const auto checked = shape.check();
  EXPECT_TRUE(checked) << (checked ? "" : checked.error().line());
  const auto result = plan(shape, *format_from(dtype), *find_gpu(gpu), Context{});
  EXPECT_TRUE(result) << (result ? "" : result.error().line());
  return result ? *result : Plan{};
}

template <class Shape>
Launch only_launch(const Shape& shape, std::string_view dtype, std::string_view gpu) {
  const Plan plan = planned(shape, dtype, gpu);
  EXPECT_EQ(plan.launches.size(), 1u);
  return plan.launches.empty() ? Launch{} : plan.launches.front();
}

// Bytes of the operands read, or written; workspace left out.
inline Bytes operand_bytes(const Launch& launch, bool written) {
  Bytes sum;
  for (const Operand& operand : launch.operands)
    if (operand.role != Operand::Role::workspace && (written ? operand.written : operand.read)) sum += operand.size;
  return sum;
}

}  // namespace tilecast
