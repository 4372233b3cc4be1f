#include "kernel/elementwise.h"

#include <gtest/gtest.h>

#include "kernel/kernel.h"
#include "kernel/plan_testing.h"
#include "kernel/pytorch.h"

namespace tilecast {
namespace {

Elementwise pointwise(Count elements, Count inputs, PointwiseOp op, bool backward = false) {
  Elementwise shape;
  shape.elements = elements;
  shape.inputs = inputs;
  shape.op = op;
  shape.backward = backward;
  return shape;
}

TEST(Elementwise, AddOfTwoTensorsByHand) {
  const Launch launch =
      only_launch(pointwise(1025, 2, PointwiseOp::add), "fp32", "A100-PCIe-40GB", measured_torch("A100-PCIe-40GB"));
  EXPECT_EQ(launch.ctas, 3);  // 512 a CTA: 512, 512 and 1
  EXPECT_EQ(launch.cta.threads, 128);
  ASSERT_EQ(launch.tasks.size(), 2u);
  EXPECT_EQ(launch.tasks[0].count, 2);
  EXPECT_EQ(launch.tasks[0].each.l2_load, bytes(512 * 8));
  EXPECT_EQ(launch.tasks[1].each.l2_load, bytes(8));
  EXPECT_EQ(launch.total().l2_store, bytes(1025 * 4));
  EXPECT_EQ(launch.total().vector, ops(2 * 1025));
  EXPECT_EQ(launch.total().xu, ops(0));
  EXPECT_EQ(launch.required.vector, ops(2 * 1025));
  EXPECT_EQ(operand_bytes(launch, false), bytes(1025 * 8));
  EXPECT_EQ(operand_bytes(launch, true), bytes(1025 * 4));
}

TEST(Elementwise, WorkOfACtaByReleaseAndVendor) {
  EXPECT_EQ(only_launch(pointwise(1000000, 2, PointwiseOp::add), "bf16", "H100-SXM").ctas, 977);  // 1024 a CTA
  EXPECT_EQ(
      only_launch(pointwise(1000000, 2, PointwiseOp::add), "bf16", "A100-SXM-80GB", measured_torch("A100-SXM-80GB"))
          .ctas,
      1954);
  const Launch amd = only_launch(pointwise(127 * 168, 1, PointwiseOp::relu), "fp32", "MI100", measured_torch("MI100"));
  EXPECT_EQ(amd.ctas, 21);  // 1024 a CTA of 256 threads
  EXPECT_EQ(amd.cta.threads, 256);
}

TEST(Elementwise, RowsTimesColsIsElements) {
  Elementwise shape;
  shape.rows = 127;
  shape.cols = 168;
  EXPECT_EQ(only_launch(shape, "fp32", "V100-PCIe", measured_torch("V100-PCIe")).ctas, 42);
  EXPECT_FALSE(shape_from("elementwise", {{"elements", "8"}, {"rows", "2"}, {"cols", "4"}}));
  EXPECT_FALSE(shape_from("elementwise", {{"rows", "2"}}));
  EXPECT_FALSE(shape_from("elementwise", {}));
  EXPECT_TRUE(shape_from("elementwise", {{"rows", "2"}, {"cols", "4"}}));
}

// A sector of the operand across is read for each of its eight elements, from memory where a row of everything else
// does not stay in the cache between them.
TEST(Elementwise, AnOperandAcrossIsReadBySectors) {
  Elementwise sum;
  sum.inputs = 2, sum.rows = 32, sum.cols = Count{2048} * 2048;
  Context across;
  across.kernel_source = source_of(TorchWalk::transposed);
  const Launch launch = plan(sum, *format_from("fp32"), *find_gpu("A100-PCIe-40GB"), across)->launches.front();
  const double elements = static_cast<double>(sum.count());
  EXPECT_EQ(launch.total().l2_load, bytes(elements * (4 + 32)));
  ASSERT_EQ(launch.operands.all().size(), 3u);
  const Operand& operand = launch.operands.all()[1];
  EXPECT_EQ(operand.size, bytes(4 * elements));
  EXPECT_DOUBLE_EQ(operand.passes, 8);
  EXPECT_EQ(operand.reuse_distance, bytes((4 + 32 + 4) * static_cast<double>(sum.cols)));
}

TEST(Elementwise, LargeTensorsAreCutAtTwoGibibytes) {
  // 2^29 fp32 elements end at byte 2^31 - 1: one launch; one more and PyTorch halves the tensor.
  EXPECT_EQ(planned(pointwise(Count{1} << 29, 1, PointwiseOp::relu), "fp32", "A100-PCIe-80GB",
                    measured_torch("A100-PCIe-80GB"))
                .launches.size(),
            1u);
  EXPECT_EQ(planned(pointwise((Count{1} << 29) + 1, 1, PointwiseOp::relu), "fp32", "A100-PCIe-80GB",
                    measured_torch("A100-PCIe-80GB"))
                .launches.size(),
            2u);
  const Plan plan = planned(pointwise(Count{655360} * 1024, 1, PointwiseOp::relu), "fp32", "A100-PCIe-80GB",
                            measured_torch("A100-PCIe-80GB"));
  ASSERT_EQ(plan.launches.size(), 2u);
  EXPECT_EQ(plan.launches[0].ctas, 655360);
  EXPECT_EQ(plan.launches[0].total().l2_load + plan.launches[1].total().l2_load, bytes(4.0 * 655360 * 1024));
}

TEST(Elementwise, PiecesSumToTheWholeAndStayFew) {
  for (const Count n : {Count{1}, Count{3} << 30, (Count{1} << 33) + 5, Count{1} << 49}) {
    Count sum = 0;
    const std::vector<Count> pieces = indexable_pieces(n, bytes(4));
    for (const Count piece : pieces) sum += piece;
    EXPECT_EQ(sum, n);
    EXPECT_LE(static_cast<Count>(pieces.size()), kMostPieces);
  }
}

TEST(Elementwise, GradientsReadWhatTheyNeed) {
  const Launch relu =
      only_launch(pointwise(1024, 1, PointwiseOp::relu, true), "fp32", "V100-PCIe", measured_torch("V100-PCIe"));
  EXPECT_EQ(relu.total().l2_load, bytes(2 * 4096));
  EXPECT_EQ(relu.total().l2_store, bytes(4096));
  EXPECT_TRUE(relu.plan_known);
  const Launch mul =
      only_launch(pointwise(1024, 2, PointwiseOp::mul, true), "fp32", "V100-PCIe", measured_torch("V100-PCIe"));
  EXPECT_EQ(mul.total().l2_load, bytes(3 * 4096));  // the gradient and both factors
  EXPECT_EQ(mul.total().l2_store, bytes(2 * 4096));
  EXPECT_FALSE(mul.plan_known);
  const Launch scaled =
      only_launch(pointwise(1024, 1, PointwiseOp::mul, true), "fp32", "V100-PCIe", measured_torch("V100-PCIe"));
  EXPECT_EQ(scaled.total().l2_load, bytes(4096));
}

// PyTorch multiplies squares and cubes out; 64 million numbers to the power of 2.5 take 200 us on an H200, three times
// as long as their squares.
TEST(Elementwise, PowersBeyondCubesAreNoProducts) {
  const auto slots = [](PointwiseOp op) {
    Elementwise shape;
    shape.elements = 1 << 20, shape.inputs = 1, shape.op = op;
    return in_ops(only_launch(shape, "bf16", "H200-SXM").total().vector) / (1 << 20);
  };
  EXPECT_GT(slots(PointwiseOp::pow), 20 * slots(PointwiseOp::square));
  EXPECT_LT(slots(PointwiseOp::square), 2 * slots(PointwiseOp::mul) + 8);
}

TEST(Elementwise, CertainWorkNeverExceedsPlannedWork) {
  for (int op = 0; op < static_cast<int>(kPointwiseOpNames.size()); ++op)
    for (const bool backward : {false, true})
      for (const Count inputs : {1, 2, 3}) {
        const Launch launch =
            only_launch(pointwise(5000, inputs, static_cast<PointwiseOp>(op), backward), "bf16", "L40S");
        EXPECT_LE(launch.required.vector, launch.total().vector) << kPointwiseOpNames[static_cast<std::size_t>(op)];
      }
}

}  // namespace
}  // namespace tilecast
