#include "kernel/quantize.h"

#include "kernel/kernel.h"
#include "kernel/plan_bytes_testing.h"

namespace tilecast {
namespace {

// 16 rows of 8192: 131072 elements, 262144 bytes in, 131072 out.
TEST(Quantize, PerTensorFindsTheScaleFirst) {
  const Plan plan = on_h100(Quantize{16, 8192}, "fp8");
  ASSERT_EQ(plan.launches.size(), 2u);
  EXPECT_EQ(plan.launches[0].name, "absmax");
  EXPECT_EQ(plan.launches[0].ctas, 16);
  EXPECT_EQ(plan.launches[1].tasks[0].steps, 2);  // 8192 / (256 * 16)
  EXPECT_DOUBLE_EQ(in_bytes(plan.launches[0].total().l2_load), 262144);
  EXPECT_DOUBLE_EQ(in_bytes(plan.launches[1].total().l2_load), 262144);
  EXPECT_DOUBLE_EQ(compulsory(plan).read, 262144);  // the second pass may come from the cache
  EXPECT_DOUBLE_EQ(compulsory(plan).written, 131072 + 4);
}

TEST(Quantize, StaticScaleIsOneLaunch) {
  const Plan plan = on_h100(Quantize{16, 8192, ScaleOf::tensor, QuantizePart::apply}, "fp8");
  ASSERT_EQ(plan.launches.size(), 1u);
  EXPECT_DOUBLE_EQ(compulsory(plan).read, 262144);
  EXPECT_DOUBLE_EQ(compulsory(plan).written, 131072);
  EXPECT_DOUBLE_EQ(in_ops(plan.launches[0].total().vector), 2 * 4 * 131072);
}

TEST(Quantize, PerTokenIsOneLaunchWithAScaleARow) {
  const Plan plan = on_h100(Quantize{16, 8192, ScaleOf::token}, "fp8");
  ASSERT_EQ(plan.launches.size(), 1u);
  EXPECT_DOUBLE_EQ(bytes_of(plan.launches[0], "scales"), 64);
  EXPECT_DOUBLE_EQ(in_bytes(plan.launches[0].total().l2_load), 262144);
  // A row of 128 KiB does not stay in L1 for the second pass.
  const Plan wide = on_h100(Quantize{16, 65536, ScaleOf::token}, "fp8");
  EXPECT_DOUBLE_EQ(in_bytes(wide.launches[0].total().l2_load), 2 * 16 * 131072.0);
}

TEST(Quantize, BlocksHaveTheirOwnScales) {
  const Launch fp8 = on_h100(Quantize{16, 8192}, "fp8_block").launches[0];
  EXPECT_EQ(fp8.ctas, 16 * 64 / 16);
  EXPECT_DOUBLE_EQ(bytes_of(fp8, "scales"), 16 * 64 * 4);
  const Launch fp4 = on_h100(Quantize{16, 8192}, "nvfp4").launches[0];
  EXPECT_DOUBLE_EQ(bytes_of(fp4, "output"), 65536);
  EXPECT_DOUBLE_EQ(bytes_of(fp4, "scales"), 131072.0 / 16);
}

TEST(Quantize, RefusesTypesThatAreNotQuantised) {
  const auto gpu = find_gpu("H100-SXM");
  ASSERT_TRUE(gpu);
  EXPECT_FALSE(plan(Quantize{16, 8192}, *format_from("bf16"), *gpu, Context{}));
  EXPECT_FALSE(plan(Quantize{16, 8192, ScaleOf::token}, *format_from("nvfp4"), *gpu, Context{}));
}

}  // namespace
}  // namespace tilecast
