#include "kernel/layernorm.h"

#include <gtest/gtest.h>

#include "kernel/plan_testing.h"

namespace tilecast {
namespace {

TEST(LayerNorm, ACtaARow) {
  const Launch launch = only_launch(LayerNorm{60, 272}, "fp32", "A100-PCIe-40GB", measured_torch("A100-PCIe-40GB"));
  EXPECT_EQ(launch.ctas, 60);
  EXPECT_EQ(launch.cta.threads, 128);
  // The row once (its second reading hits L1), gamma and beta once on each of the 60 SMs.
  EXPECT_EQ(launch.tasks[0].each.l2_load, bytes(1088 + 2 * 1088));
  EXPECT_EQ(launch.tasks[0].each.l2_store, bytes(1088 + 8));
  // 12 slots an element (9 of Welford, 3 to normalise), and five steps of 13 on 128 threads.
  EXPECT_EQ(launch.tasks[0].each.vector, ops(2 * (272 * 12 + 5 * 13 * 128)));
  EXPECT_EQ(launch.tasks[0].each.xu, ops(272));
  EXPECT_EQ(operand_bytes(launch, false), bytes(60 * 1088 + 2 * 1088));
  EXPECT_EQ(only_launch(LayerNorm{60, 272}, "fp32", "MI210", measured_torch("MI210")).cta.threads, 256);
}

TEST(LayerNorm, ParametersAreFetchedOncePerSm) {
  const Launch launch = only_launch(LayerNorm{10800, 1024}, "fp32", "A100-PCIe-40GB", measured_torch("A100-PCIe-40GB"));
  // 108 SMs fetch 8 KiB each for 10800 rows: 81.92 bytes a row.
  EXPECT_NEAR(in_bytes(launch.tasks[0].each.l2_load), 4096 + 81.92, 1e-6);
  // Pascal's L1 keeps nothing: both passes and both parameters from L2.
  EXPECT_EQ(only_launch(LayerNorm{10800, 1024}, "fp32", "P100-PCIe", measured_torch("P100-PCIe")).tasks[0].each.l2_load,
            bytes(4 * 4096));
}

TEST(LayerNorm, RowsThatVectorsDoNotDivideTakeTwoKernels) {
  for (const auto& [cols, type] : {std::pair{271, "fp32"}, std::pair{272, "fp64"}}) {
    const Plan plan = planned(LayerNorm{60, cols}, type, "A100-PCIe-40GB");
    ASSERT_EQ(plan.launches.size(), 2u);
    EXPECT_EQ(plan.launches[0].ctas, 60);
    EXPECT_EQ(plan.launches[0].cta.threads, 512);
    EXPECT_EQ(plan.launches[1].ctas, 60);
    EXPECT_EQ(plan.launches[1].cta.threads, 256);
  }
}

TEST(LayerNorm, GradientGrids) {
  const auto parameter_ctas = [](Count rows, std::string_view gpu) {
    return planned(LayerNorm{rows, 1024, true}, "fp32", gpu, measured_torch(gpu)).launches[1].ctas;
  };
  EXPECT_EQ(parameter_ctas(100, "A100-PCIe-40GB"), 4);    // a thread a column, 256 a CTA
  EXPECT_EQ(parameter_ctas(4096, "A100-PCIe-40GB"), 32);  // 32 x 32 threads
  EXPECT_EQ(parameter_ctas(4097, "A100-PCIe-40GB"), 64);  // 16 x 32 threads
  EXPECT_EQ(parameter_ctas(4096, "MI100"), 16 * 64);      // 64 columns and 64 parts
  const Plan plan = planned(LayerNorm{4096, 1024, true}, "fp32", "A100-PCIe-40GB", measured_torch("A100-PCIe-40GB"));
  ASSERT_EQ(plan.launches.size(), 2u);
  EXPECT_EQ(plan.launches[0].ctas, 4096);
  EXPECT_EQ(plan.launches[0].cta.threads, 128);
  EXPECT_EQ(planned(LayerNorm{4096, 1024, true}, "fp32", "MI100", measured_torch("MI100")).launches.size(), 3u);
}

TEST(LayerNorm, GradientBytes) {
  const double tensor = 4096.0 * 1024 * 4, statistics = 4096 * 8;
  const Plan plan = planned(LayerNorm{4096, 1024, true}, "fp32", "A100-PCIe-40GB", measured_torch("A100-PCIe-40GB"));
  EXPECT_EQ(operand_bytes(plan.launches[0], false), bytes(2 * tensor + statistics + 4096));
  EXPECT_EQ(operand_bytes(plan.launches[0], true), bytes(tensor));
  EXPECT_EQ(operand_bytes(plan.launches[1], true), bytes(2 * 4096));
  // Each of 32 CTAs reads its 32 columns of both tensors and all statistics.
  EXPECT_NEAR(in_bytes(plan.launches[1].total().l2_load), 2 * tensor + 32 * statistics, 1);
  EXPECT_EQ(plan.launches[1].total().vector, ops(2 * 4 * 4096.0 * 1024));
}

}  // namespace
}  // namespace tilecast
