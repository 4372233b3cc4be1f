#include "kernel/conv2d.h"

#include <gtest/gtest.h>

#include "gpu/registry.h"
#include "kernel/kernel.h"

namespace tilecast {
namespace {

Plan plan_of(const Conv2d& shape, std::string_view dtype, std::string_view gpu) {
  EXPECT_TRUE(shape.check());
  const auto planned = plan(shape, *format_from(dtype), *find_gpu(gpu), {});
  EXPECT_TRUE(planned) << (planned ? "" : planned.error().line());
  return planned ? *planned : Plan{};
}

Conv2d conv(Count batch, Count in, Count out, Count size, Count kernel, Count padding) {
  Conv2d shape;
  shape.batch = batch;
  shape.in_channels = in;
  shape.out_channels = out;
  shape.height = shape.width = size;
  shape.kernel = kernel;
  shape.padding = padding;
  return shape;
}

std::vector<double> sizes(const Launch& launch) {
  std::vector<double> all;
  for (const Operand& operand : launch.operands)
    if (operand.role != Operand::Role::workspace) all.push_back(in_bytes(operand.size));
  return all;
}

TEST(Conv2d, ImplicitGemmByHand) {
  const Plan plan = plan_of(conv(2, 16, 32, 8, 3, 1), "bf16", "A100-SXM-80GB");  // 128 x 32 results, k = 16 x 9
  ASSERT_EQ(plan.launches.size(), 1u);
  const Launch& launch = plan.launches[0];
  EXPECT_EQ(launch.name, "implicit_gemm");
  EXPECT_EQ(launch.ctas, ceil_div(128, launch.tile.m) * ceil_div(32, launch.tile.n));
  EXPECT_DOUBLE_EQ(in_ops(launch.total().tensor), 2.0 * static_cast<double>(launch.ctas) * launch.tile.m *
                                                      launch.tile.n *
                                                      static_cast<double>(round_up(144, launch.tile.k)));
  // Directly 2 x 2 x 32 x 16 x 64 x 9; Winograd's F(4x4, 3x3) takes a quarter.
  EXPECT_DOUBLE_EQ(in_ops(launch.required.tensor), 2.0 * 2 * 32 * 16 * 64 * 9 / 4);
  EXPECT_EQ(sizes(launch), (std::vector<double>{2 * 16 * 64 * 2, 32 * 16 * 9 * 2, 2 * 32 * 64 * 2}));
}

TEST(Conv2d, AxesCountTapsThatMeetTheInput) {
  EXPECT_EQ((Conv2d::Axis{8, 3, 1, 1, 1}.results()), 8);
  EXPECT_EQ((Conv2d::Axis{8, 3, 1, 1, 1}.products()), 22);  // 24 less one at either edge
  EXPECT_EQ((Conv2d::Axis{8, 3, 1, 1, 1}.touched()), 8);
  EXPECT_EQ((Conv2d::Axis{8, 1, 2, 0, 1}.results()), 4);
  EXPECT_EQ((Conv2d::Axis{8, 1, 2, 0, 1}.touched()), 4);
  EXPECT_EQ((Conv2d::Axis{224, 7, 2, 3, 1}.results()), 112);
  EXPECT_EQ((Conv2d::Axis{9, 3, 1, 0, 2}.results()), 5);
  EXPECT_EQ((Conv2d::Axis{9, 3, 1, 0, 2}.products()), 15);
}

TEST(Conv2d, StridedPointwiseReadsAQuarter) {
  Conv2d shape = conv(1, 64, 64, 8, 1, 0);
  shape.stride = 2;
  const Plan plan = plan_of(shape, "bf16", "H100-SXM");
  const Operand input = *plan.launches[0].operands.begin();
  EXPECT_DOUBLE_EQ(in_bytes(input.size), 64 * 64 * 2);
  EXPECT_DOUBLE_EQ(in_bytes(input.least()), 64 * 16 * 2);
  EXPECT_DOUBLE_EQ(in_ops(plan.launches[0].required.tensor), 2.0 * 16 * 64 * 64);
}

TEST(Conv2d, GradientsMultiplyTheSamePairs) {
  Conv2d shape = conv(4, 32, 64, 16, 3, 1);
  const Ops forward = plan_of(shape, "bf16", "H100-SXM").launches[0].required.tensor;
  shape.backward = ConvBackward::data;
  const Launch data = plan_of(shape, "bf16", "H100-SXM").launches[0];
  EXPECT_EQ(data.required.tensor, forward);
  EXPECT_EQ(data.ctas, ceil_div(4 * 256, data.tile.m) * ceil_div(32, data.tile.n));
  shape.backward = ConvBackward::weight;
  const Launch weight = plan_of(shape, "bf16", "H100-SXM").launches[0];
  EXPECT_EQ(weight.required.tensor, forward);
  EXPECT_EQ(weight.ctas, weight.split * ceil_div(64, weight.tile.m) * ceil_div(32 * 9, weight.tile.n));
}

TEST(Conv2d, GroupsAreABatchOfProducts) {
  Conv2d shape = conv(2, 32, 32, 8, 3, 1);
  shape.groups = 32;
  shape.stride = 2;  // no Winograd: 11 = 4 x 3 - 1 taps an axis meet the input
  const Launch launch = plan_of(shape, "bf16", "A100-SXM-80GB").launches[0];
  EXPECT_EQ(launch.ctas, 32 * ceil_div(2 * 16, launch.tile.m));
  EXPECT_DOUBLE_EQ(in_ops(launch.required.tensor), 2.0 * 2 * 32 * 11 * 11);
}

TEST(Conv2d, WinogradGridOfAMeasuredRow) {
  // NeuSight, A100: batch 47, 187 -> 1622 channels, 8 x 8: four kernels around 36 products of 188 x 1622 x 187.
  const Plan plan = plan_of(conv(47, 187, 1622, 8, 3, 1), "fp32", "A100-PCIe-80GB");
  ASSERT_EQ(plan.launches.size(), 4u);
  const Launch& product = plan.launches[2];
  EXPECT_EQ(product.name, "winograd_gemm");
  EXPECT_EQ(product.ctas, 36 * ceil_div(47 * 4, product.tile.m) * ceil_div(1622, product.tile.n));
  EXPECT_LT(product.required.vector, product.total().vector);
  for (const std::size_t transform : {0, 1, 3}) EXPECT_EQ(plan.launches[transform].required, Demand{});
}

TEST(Conv2d, ContradictionsAreRefused) {
  EXPECT_EQ(conv(1, 4, 4, 2, 3, 0).check().error().field, "kernel");
  EXPECT_EQ(conv(1, 4, 4, 8, 3, 3).check().error().field, "padding");
  Conv2d shape = conv(1, 4, 6, 8, 3, 1);
  shape.groups = 4;
  EXPECT_EQ(shape.check().error().field, "groups");
}

// MIOpen turns the input and the filter before an implicit product, and the result after it.
TEST(Conv2d, IsTransposedOnCdna3) {
  Conv2d shape;
  shape.batch = 16, shape.in_channels = 64, shape.out_channels = 128, shape.height = 28, shape.width = 28;
  const auto made = plan(shape, *format_from("fp16"), *find_gpu("MI300X"), Context{});
  ASSERT_TRUE(made) << made.error().line();
  ASSERT_EQ(made->launches.size(), 4u);
  EXPECT_EQ(made->launches[2].name, "implicit_gemm");
  EXPECT_EQ(made->launches[3].name, "transpose_back");
  const double input = 16.0 * 64 * 28 * 28 * 2;
  EXPECT_NEAR(in_bytes(made->launches[0].total().l2_load), input, 1);
  EXPECT_NEAR(in_bytes(made->launches[0].total().l2_store), input, 1);
}

}  // namespace
}  // namespace tilecast
