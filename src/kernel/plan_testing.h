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
Plan planned(const Shape& shape, std::string_view dtype, std::string_view gpu, const Context& context = {}) {
  const auto checked = shape.check();
  EXPECT_TRUE(checked) << (checked ? "" : checked.error().line());
  const auto result = plan(shape, *format_from(dtype), *find_gpu(gpu), context);
  EXPECT_TRUE(result) << (result ? "" : result.error().line());
  return result ? *result : Plan{};
}

template <class Shape>
Launch only_launch(const Shape& shape, std::string_view dtype, std::string_view gpu, const Context& context = {}) {
  const Plan plan = planned(shape, dtype, gpu, context);
  EXPECT_EQ(plan.launches.size(), 1u);
  return plan.launches.empty() ? Launch{} : plan.launches.front();
}

// PyTorch as NeuSight's rows of a card were measured under: 2.1 on NVIDIA, 2.4 on AMD.
inline Context measured_torch(std::string_view gpu) {
  Context context;
  context.torch = find_gpu(gpu)->vendor == Vendor::amd ? TorchRelease::v2_4 : TorchRelease::v2_1;
  return context;
}

// Bytes of the operands read, or written; workspace left out.
inline Bytes operand_bytes(const Launch& launch, bool written) {
  Bytes sum;
  for (const Operand& operand : launch.operands)
    if (operand.role != Operand::Role::workspace && (written ? operand.written : operand.read)) sum += operand.size;
  return sum;
}

}  // namespace tilecast
