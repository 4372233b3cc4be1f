#include "kernel/torch_walk.h"

#include <gtest/gtest.h>

#include "kernel/copy.h"
#include "kernel/elementwise.h"
#include "kernel/plan_testing.h"

namespace tilecast {
namespace {

Context from(std::string_view source) {
  Context context;
  context.engine = Launcher::pytorch, context.kernel_source = KernelSource::named(source);
  return context;
}

template <class Shape>
Launch walked(const Shape& shape, std::string_view dtype, std::string_view source) {
  const auto result = plan(shape, *format_from(dtype), *find_gpu("H200-SXM"), from(source));
  EXPECT_TRUE(result);
  return result ? result->launches.front() : Launch{};
}

Elementwise product_with_a_row(Count elements) {
  Elementwise shape;
  shape.elements = elements, shape.op = PointwiseOp::mul;
  return shape;
}
Copy copied(Count elements) {
  Copy shape;
  shape.elements = elements;
  return shape;
}

TEST(TorchWalk, SourcesNameIt) {
  EXPECT_EQ(torch_walk(from("torch_strided")), TorchWalk::strided);
  EXPECT_EQ(torch_walk(from("torch_widen")), TorchWalk::widen);
  EXPECT_EQ(torch_walk(from("torch")), TorchWalk::vectorized);
  EXPECT_EQ(torch_walk(from("cuda_memcpy")), TorchWalk::vectorized);
  EXPECT_EQ(torch_walk(from("")), TorchWalk::vectorized);
}

// elementwise_kernel<128, 4>, or <128, 2> of four bytes and more: the grids that h200_small_kernels.csv.gz names.
TEST(TorchWalk, StridedGridsByHand) {
  EXPECT_EQ(walked(product_with_a_row(16384 * 4096), "bf16", "torch_strided").ctas, 131072);
  EXPECT_EQ(walked(product_with_a_row(16384 * 4096), "fp32", "torch_strided").ctas, 262144);
  EXPECT_EQ(walked(product_with_a_row(16384 * 4096), "bf16", "torch").ctas, 65536);
}

TEST(TorchWalk, StridedComputesAnOffsetForEachOperand) {
  const Launch plain = walked(product_with_a_row(4096), "bf16", "torch");
  const Launch strided = walked(product_with_a_row(4096), "bf16", "torch_strided");
  // A product with a broadcast row: three operands, and a quarter of what a thread of four elements does once.
  EXPECT_DOUBLE_EQ(in_ops(strided.total().vector - plain.total().vector), 2 * 4096 * (3 * 13.5 + 28.0 / 4));
  EXPECT_DOUBLE_EQ(strided.tasks.front().steps, 3.25);
  EXPECT_EQ(strided.total().l2_load, plain.total().l2_load);
  EXPECT_FALSE(strided.plan_known) << "fitted slots bound nothing";
  EXPECT_TRUE(plain.plan_known);
}

TEST(TorchWalk, ATransposedOperandTakesASectorForEachElement) {
  Elementwise sum;
  sum.elements = 4096, sum.inputs = 2;
  const Launch strided = walked(sum, "bf16", "torch_strided"), transposed = walked(sum, "bf16", "torch_transposed");
  EXPECT_EQ(strided.total().l2_load, bytes(2 * 2 * 4096));
  EXPECT_EQ(transposed.total().l2_load, bytes((2 + 32) * 4096));
  EXPECT_EQ(transposed.total().vector, strided.total().vector);
  EXPECT_EQ(transposed.ctas, strided.ctas);
}

TEST(TorchWalk, ConversionsReadAndWriteTheirOwnWidths) {
  const Launch widened = walked(copied(1 << 20), "bf16", "torch_widen");
  EXPECT_EQ(widened.total().l2_load, bytes(2 << 20));
  EXPECT_EQ(widened.total().l2_store, bytes(4 << 20));
  EXPECT_EQ(operand_bytes(widened, true), bytes(4 << 20));
  const Launch narrowed = walked(copied(1 << 20), "bf16", "torch_narrow");
  EXPECT_EQ(narrowed.total().l2_load, bytes(4 << 20));
  EXPECT_EQ(narrowed.total().l2_store, bytes(2 << 20));
  EXPECT_EQ(narrowed.ctas, 1024);  // vectorized: eight elements a thread
  EXPECT_EQ(widened.ctas, 2048);
}

}  // namespace
}  // namespace tilecast
