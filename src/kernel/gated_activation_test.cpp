#include "kernel/gated_activation.h"

#include <gtest/gtest.h>

#include "kernel/plan_testing.h"

namespace tilecast {
namespace {

TEST(GatedActivation, SiluAndMulByHand) {
  const Launch launch = only_launch(GatedActivation{2048, 14336}, "bf16", "H100-SXM");
  EXPECT_EQ(launch.ctas, 2048);
  EXPECT_EQ(launch.cta.threads, 1024);
  EXPECT_EQ(launch.tasks[0].each.l2_load, bytes(2 * 28672));
  EXPECT_EQ(launch.tasks[0].each.l2_store, bytes(28672));
  EXPECT_EQ(launch.tasks[0].each.vector, ops(2 * 14.0 * 14336));  // exp 4, one addition, division 8, product
  EXPECT_EQ(launch.tasks[0].each.xu, ops(2.0 * 14336));
  EXPECT_EQ(operand_bytes(launch, false), bytes(2048.0 * 2 * 28672));
}

TEST(GatedActivation, ThreadsFollowTheWidth) {
  EXPECT_EQ(only_launch(GatedActivation{4, 1536}, "bf16", "H100-SXM").cta.threads, 192);
  EXPECT_EQ(only_launch(GatedActivation{4, 1537}, "bf16", "H100-SXM").cta.threads, 1024);
  EXPECT_EQ(only_launch(GatedActivation{4, 100}, "fp32", "H100-SXM").cta.threads, 25);
}

TEST(GatedActivation, GradientReadsThreeAndWritesTwo) {
  for (const Gate act : {Gate::silu, Gate::gelu}) {
    const Launch launch = only_launch(GatedActivation{64, 512, act, true}, "fp32", "A100-SXM-80GB");
    EXPECT_EQ(launch.total().l2_load, bytes(3.0 * 64 * 512 * 4));
    EXPECT_EQ(launch.total().l2_store, bytes(2.0 * 64 * 512 * 4));
    EXPECT_GT(launch.total().vector,
              only_launch(GatedActivation{64, 512, act}, "fp32", "A100-SXM-80GB").total().vector);
  }
}

}  // namespace
}  // namespace tilecast
