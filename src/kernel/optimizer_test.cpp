#include "kernel/optimizer.h"

#include "kernel/kernel.h"
#include "kernel/plan_bytes_testing.h"

namespace tilecast {
namespace {

constexpr Count kParams = 1 << 20;

// fp32 AdamW reads parameter, gradient and two moments (16 bytes) and writes all but the gradient (12).
TEST(Optimizer, FusedAdamWByHand) {
  const Plan plan = on_h100(Optimizer{.params = kParams}, "fp32");
  ASSERT_EQ(plan.launches.size(), 1u);
  const Launch& launch = plan.launches[0];
  EXPECT_EQ(launch.ctas, 16);  // chunks of 65536
  EXPECT_EQ(launch.cta.threads, 512);
  EXPECT_EQ(launch.tasks[0].steps, 32);
  EXPECT_DOUBLE_EQ(in_bytes(launch.total().l2_load), 16.0 * kParams);
  EXPECT_DOUBLE_EQ(in_bytes(launch.total().l2_store), 12.0 * kParams);
  EXPECT_DOUBLE_EQ(in_ops(launch.total().vector), 2 * 20.0 * kParams);
}

TEST(Optimizer, MasterWeightsAreUpdatedInsteadOfParameters) {
  // Reads gradient 2, master 4, moments 8; writes master 4, moments 8, parameter 2.
  const Launch launch = on_h100(Optimizer{.params = kParams, .master = true}, "bf16").launches[0];
  EXPECT_DOUBLE_EQ(in_bytes(launch.total().l2_load), 14.0 * kParams);
  EXPECT_DOUBLE_EQ(in_bytes(launch.total().l2_store), 14.0 * kParams);
  const Launch wide =
      on_h100(Optimizer{.params = kParams, .master = true, .gradient = GradientType::fp32}, "bf16").launches[0];
  EXPECT_DOUBLE_EQ(in_bytes(wide.total().l2_load), 16.0 * kParams);
}

TEST(Optimizer, FormsDifferInPassesNotInCompulsoryBytes) {
  for (const OptimizerKind kind : {OptimizerKind::adam, OptimizerKind::adamw, OptimizerKind::sgd}) {
    Optimizer shape{.params = kParams, .kind = kind};
    const Plan fused = on_h100(shape, "fp32");
    shape.form = OptimizerForm::foreach;
    const Plan each = on_h100(shape, "fp32");
    shape.form = OptimizerForm::plain;
    const Plan plain = on_h100(shape, "fp32");
    EXPECT_EQ(each.launches.size(), plain.launches.size());
    EXPECT_DOUBLE_EQ(compulsory(fused).read, compulsory(plain).read);
    EXPECT_DOUBLE_EQ(compulsory(fused).written, compulsory(plain).written);
    EXPECT_DOUBLE_EQ(compulsory(fused).read, compulsory(each).read);
  }
}

TEST(Optimizer, PlainAdamWIsEightKernelsATensor) {
  Optimizer shape{.params = kParams, .form = OptimizerForm::plain};
  EXPECT_EQ(on_h100(shape, "fp32").launches.size(), 8u);
  shape.tensors = 4;
  const Plan plan = on_h100(shape, "fp32");
  EXPECT_EQ(plan.launches.size(), 32u);
  EXPECT_DOUBLE_EQ(compulsory(plan).read, 16.0 * kParams);
}

TEST(Optimizer, SgdByHand) {
  Optimizer shape{.params = kParams, .kind = OptimizerKind::sgd};
  EXPECT_DOUBLE_EQ(in_bytes(on_h100(shape, "fp32").launches[0].total().l2_load), 8.0 * kParams);
  shape.momentum = true;
  EXPECT_DOUBLE_EQ(in_bytes(on_h100(shape, "fp32").launches[0].total().l2_load), 12.0 * kParams);
  shape.kind = OptimizerKind::adam;
  EXPECT_FALSE(shape.check());
}

}  // namespace
}  // namespace tilecast
