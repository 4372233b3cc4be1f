#include "model/program_order.h"

#include <gtest/gtest.h>

namespace tilecast {
namespace {

using Order = std::vector<int>;

TEST(ProgramOrder, KernelsStayAsTheyComeWhereNothingIsGained) {
  const KernelOrder order =
      order_for_least_memory({{{}, {0}, {1}}, {{100, 0, {1}}, {100, 1, {2}}, {100, 2, {}, true}}});
  EXPECT_EQ(order.kernels, (Order{0, 1, 2}));
  EXPECT_EQ(order.memory, (std::vector<Count>{0, 100, 100, 0}))
      << "what leaves is taken off from the start, as Inductor has it";
  EXPECT_EQ(order.peak, 100);
}

TEST(ProgramOrder, LargeResultsWaitUntilTheyAreNeeded) {
  const KernelOrder order =
      order_for_least_memory({{{}, {}, {1}, {0, 2}}, {{100, 0, {3}}, {10, 1, {2}}, {10, 2, {3}}, {1, 3, {}, true}}});
  EXPECT_EQ(order.kernels, (Order{1, 2, 0, 3}));
  EXPECT_EQ(order.peak, 110);
}

TEST(ProgramOrder, WhatFreesAnInputRunsFirst) {
  const KernelOrder order =
      order_for_least_memory({{{}, {}, {0, 1}}, {{500, -1, {1}}, {200, 0, {2}}, {10, 1, {2}}, {1, 2, {}, true}}});
  EXPECT_EQ(order.kernels, (Order{1, 0, 2})) << "the second kernel is the last to read the large input";
}

TEST(ProgramOrder, KernelsThatWaitForEachOtherAllRun) {
  EXPECT_EQ(order_for_least_memory({{{1}, {0}}, {{1, 0, {1}}, {1, 1, {0}}}}).kernels.size(), 2u);
  EXPECT_TRUE(order_for_least_memory({}).kernels.empty());
}

}  // namespace
}  // namespace tilecast
