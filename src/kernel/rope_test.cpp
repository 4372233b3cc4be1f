#include "kernel/rope.h"

#include <algorithm>

#include "kernel/kernel.h"
#include "kernel/plan_bytes_testing.h"

namespace tilecast {
namespace {

// 4 tokens, 32 query and 8 key heads of 128 in bf16: queries 4*32*128 = 16384, keys 4096 elements.
TEST(Rope, CountsByHand) {
  const Plan plan = on_h100(Rope{4, 32, 8, 128}, "bf16");
  ASSERT_EQ(plan.launches.size(), 1u);
  const Launch& launch = plan.launches[0];
  EXPECT_EQ(launch.ctas, 4);
  EXPECT_EQ(launch.cta.threads, 512);   // 32*64 = 2048 pairs, capped
  EXPECT_EQ(launch.tasks[0].steps, 4);  // 2048 / 512
  EXPECT_DOUBLE_EQ(bytes_of(launch, "queries"), 32768);
  EXPECT_DOUBLE_EQ(bytes_of(launch, "keys"), 8192);
  EXPECT_DOUBLE_EQ(bytes_of(launch, "cos_sin"), 4 * 256);
  EXPECT_DOUBLE_EQ(in_ops(launch.total().vector), 2 * 2 * 20480);
  EXPECT_DOUBLE_EQ(in_bytes(launch.total().l2_store), 32768 + 8192);
  EXPECT_DOUBLE_EQ(in_bytes(launch.total().l2_load), 32768 + 8192 + 1024 + 32);
}

TEST(Rope, KeyHeadsDefaultToHeads) {
  const Launch launch = on_h100(Rope{4, 32, 0, 128}, "bf16").launches[0];
  EXPECT_DOUBLE_EQ(bytes_of(launch, "keys"), bytes_of(launch, "queries"));
}

TEST(Rope, OnlyOneTableRowIsCertain) {
  const Launch launch = on_h100(Rope{4096, 32, 8, 128}, "bf16").launches[0];
  const auto table = std::find_if(launch.operands.begin(), launch.operands.end(),
                                  [](const Operand& operand) { return operand.name == "cos_sin"; });
  ASSERT_NE(table, launch.operands.end());
  EXPECT_DOUBLE_EQ(in_bytes(table->least()), 256);
}

TEST(Rope, OddHeadsAreRefused) { EXPECT_FALSE((Rope{4, 32, 8, 127}.check())); }

}  // namespace
}  // namespace tilecast
