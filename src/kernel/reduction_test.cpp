#include "kernel/reduction.h"

#include <gtest/gtest.h>

#include "kernel/plan_testing.h"

namespace tilecast {
namespace {

TEST(Reduction, AWarpARowWhileRowsAreMany) {
  const Launch launch = only_launch(Reduction{4096, 4096}, "bf16", "H100-SXM");
  EXPECT_EQ(launch.cta.threads, 512);
  EXPECT_EQ(launch.ctas, 256);  // 16 rows a CTA of 16 warps
  EXPECT_EQ(launch.tasks[0].each.l2_load, bytes(16 * 8192));
  EXPECT_EQ(launch.tasks[0].each.l2_store, bytes(16 * 2));
  EXPECT_EQ(launch.tasks[0].each.vector, ops(2 * (16 * 4096 + 5 * 512)));
}

TEST(Reduction, ShortRowsOfHalvesTakeHalfAWarp) {
  // 128 elements in vectors of eight: 16 threads a row, 32 rows a CTA; measured with PyTorch 2.11 on an H200.
  EXPECT_EQ(only_launch(Reduction{16384, 128}, "bf16", "H200-SXM").ctas, 512);
  EXPECT_EQ(only_launch(Reduction{16384, 128}, "fp32", "H200-SXM").ctas, 1024);
}

TEST(Reduction, FewLongRowsAreSplitOverCtas) {
  const Launch launch = only_launch(Reduction{16, 1048576}, "fp32", "H100-SXM");
  EXPECT_EQ(launch.split, 33);  // 132 SMs of four CTAs, 16 rows
  EXPECT_EQ(launch.ctas, 528);
  // The whole input, and a partial sum out and in for each CTA.
  EXPECT_NEAR(in_bytes(launch.total().l2_load), 4.0 * 16 * 1048576 + 528 * 4, 1);
  EXPECT_NEAR(in_bytes(launch.total().l2_store), 16 * 4 + 528 * 4, 1e-6);
}

TEST(Reduction, SmallShapes) {
  EXPECT_EQ(only_launch(Reduction{1, 1000}, "fp32", "A100-PCIe-40GB").cta.threads, 128);  // 250 vectors
  const Launch single = only_launch(Reduction{5, 1}, "fp32", "A100-PCIe-40GB");
  EXPECT_EQ(single.ctas, 2);  // one thread a row, four of them
  EXPECT_EQ(single.total().l2_load, bytes(20));
}

TEST(Reduction, TensorsBeyondTwoGibibytesAreCutByRows) {
  const Plan plan = planned(Reduction{Count{1} << 20, 1024}, "fp32", "A100-PCIe-80GB");
  ASSERT_EQ(plan.launches.size(), 2u);
  EXPECT_EQ(plan.launches[0].task_count(), plan.launches[1].task_count());
}

}  // namespace
}  // namespace tilecast
