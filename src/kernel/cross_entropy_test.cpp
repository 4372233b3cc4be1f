#include "kernel/cross_entropy.h"

#include "kernel/kernel.h"
#include "kernel/plan_bytes_testing.h"

namespace tilecast {
namespace {

// 8 rows of 32768 in fp32: 1 MiB.
TEST(CrossEntropy, ForwardByHand) {
  const Plan plan = on_h100(CrossEntropy{8, 32768}, "fp32");
  ASSERT_EQ(plan.launches.size(), 2u);
  EXPECT_EQ(plan.launches[0].ctas, 8);
  EXPECT_EQ(plan.launches[0].cta.threads, 1024);
  EXPECT_EQ(plan.launches[0].tasks[0].steps, 8);                          // 8192 vectors / 1024
  EXPECT_DOUBLE_EQ(in_bytes(plan.launches[0].total().l2_load), 1 << 20);  // 128 KiB of a row fit shared memory
  EXPECT_DOUBLE_EQ(in_ops(plan.launches[0].total().xu), 8 * 32768);
  EXPECT_EQ(plan.launches[1].ctas, 1);
  EXPECT_DOUBLE_EQ(compulsory(plan).read, (1 << 20) + 64);
  EXPECT_DOUBLE_EQ(compulsory(plan).written, 4);
}

TEST(CrossEntropy, LongRowsAreReadThreeTimes) {
  const Plan plan = on_h100(CrossEntropy{8, 131072}, "fp32");
  EXPECT_DOUBLE_EQ(in_bytes(plan.launches[0].total().l2_load), 3 * 4.0 * 8 * 131072);
}

TEST(CrossEntropy, BackwardReadsProbabilitiesAndWritesGradients) {
  const Plan plan = on_h100(CrossEntropy{8, 32768, true}, "fp32");
  ASSERT_EQ(plan.launches.size(), 3u);
  EXPECT_DOUBLE_EQ(compulsory(plan).read, (1 << 20) + 64);
  EXPECT_DOUBLE_EQ(compulsory(plan).written, 1 << 20);
  EXPECT_DOUBLE_EQ(in_bytes(plan.launches[2].total().l2_load), 3 << 20);
}

}  // namespace
}  // namespace tilecast
