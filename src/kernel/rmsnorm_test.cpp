#include "kernel/rmsnorm.h"

#include <gtest/gtest.h>

#include "kernel/plan_testing.h"

namespace tilecast {
namespace {

RmsNorm norm(Count rows, Count cols, bool residual = false, bool backward = false) {
  return {rows, cols, residual, backward};
}

TEST(RmsNorm, ACtaAToken) {
  const Launch launch = only_launch(norm(2048, 4096), "bf16", "H100-SXM");
  EXPECT_EQ(launch.ctas, 2048);
  EXPECT_EQ(launch.cta.threads, 256);
  EXPECT_EQ(only_launch(norm(8, 4096), "bf16", "H100-SXM").cta.threads, 512);   // eight elements a thread
  EXPECT_EQ(only_launch(norm(8, 4095), "bf16", "H100-SXM").cta.threads, 1024);  // one
  EXPECT_EQ(only_launch(norm(8, 4096, true), "bf16", "H100-SXM").cta.threads, 1024);
}

TEST(RmsNorm, BytesAndOperationsByHand) {
  const Launch launch = only_launch(norm(100, 4096), "bf16", "H100-SXM");
  // A row, its weight on a fresh SM; the second pass hits L1.
  EXPECT_EQ(launch.tasks[0].each.l2_load, bytes(8192 + 8192));
  EXPECT_EQ(launch.tasks[0].each.l2_store, bytes(8192));
  // Square and sum, two products; five shuffle steps of 512 threads.
  EXPECT_EQ(launch.tasks[0].each.vector, ops(2 * (3 * 4096 + 5 * 512)));
  EXPECT_EQ(launch.tasks[0].each.xu, ops(1));
  EXPECT_EQ(operand_bytes(launch, false), bytes(101 * 8192));
}

TEST(RmsNorm, ResidualIsReadAndWrittenToo) {
  const Launch launch = only_launch(norm(100, 4096, true), "bf16", "H100-SXM");
  EXPECT_EQ(launch.tasks[0].each.l2_store, bytes(2 * 8192));
  EXPECT_EQ(operand_bytes(launch, false), bytes(201 * 8192));
  EXPECT_EQ(operand_bytes(launch, true), bytes(200 * 8192));
  EXPECT_FALSE(norm(8, 8, true, true).check());
}

TEST(RmsNorm, GradientHasNoMeanAndNoBeta) {
  const Plan plan = planned(norm(4096, 1024, false, true), "bf16", "H100-SXM");
  ASSERT_EQ(plan.launches.size(), 2u);
  EXPECT_FALSE(plan.launches[0].plan_known);
  EXPECT_EQ(operand_bytes(plan.launches[1], true), bytes(2048));  // gamma's gradient alone
}

}  // namespace
}  // namespace tilecast
