#include "kernel/copy.h"

#include <gtest/gtest.h>

#include "kernel/kernel.h"
#include "kernel/plan_testing.h"

namespace tilecast {
namespace {

Copy matrix(Count rows, Count cols, bool transpose) {
  Copy shape;
  shape.rows = rows;
  shape.cols = cols;
  shape.transpose = transpose;
  return shape;
}

TEST(Copy, MovesEveryByteTwice) {
  const Launch launch = only_launch(matrix(100, 1000, false), "bf16", "H100-SXM");
  EXPECT_EQ(launch.total().l2_load, bytes(200000));
  EXPECT_EQ(launch.total().l2_store, bytes(200000));
  EXPECT_EQ(launch.total().vector, ops(0));
  EXPECT_FALSE(launch.plan_known);  // the driver's kernel
}

TEST(Copy, TransposeFetchesASectorForEveryElement) {
  const Launch launch = only_launch(matrix(4096, 4096, true), "bf16", "H100-SXM");
  EXPECT_EQ(launch.ctas, 32768);  // 512 elements a CTA
  EXPECT_EQ(launch.tasks[0].each.l2_load, bytes(512 * 32));
  EXPECT_EQ(launch.tasks[0].each.l2_store, bytes(512 * 2));
  EXPECT_EQ(operand_bytes(launch, false), bytes(2.0 * 4096 * 4096));
  EXPECT_EQ(only_launch(matrix(8192, 2048, true), "fp32", "H100-SXM").ctas, 65536);  // 256 a CTA
}

TEST(Copy, FewRowsShareSectors) {
  // 256 elements of the result are 32 columns of 8 rows: whole sectors of four-byte elements.
  EXPECT_EQ(only_launch(matrix(8, 4096, true), "fp32", "H100-SXM").total().l2_load, bytes(4.0 * 8 * 4096));
  // 128 rows: two columns of four bytes in each sector.
  EXPECT_EQ(only_launch(matrix(128, 4096, true), "fp32", "H100-SXM").total().l2_load, bytes(16.0 * 128 * 4096));
}

TEST(Copy, ShapesGivenTwiceOrNotAtAllAreRefused) {
  EXPECT_FALSE(shape_from("copy", {{"elements", "8"}, {"transpose", "1"}}));
  EXPECT_FALSE(shape_from("copy", {}));
  EXPECT_FALSE(shape_from("copy", {{"elements", "8"}, {"rows", "8"}, {"cols", "8"}}));
  EXPECT_TRUE(shape_from("copy", {{"elements", "8"}}));
}

}  // namespace
}  // namespace tilecast
