#include "kernel/custom.h"

#include "kernel/kernel.h"
#include "kernel/plan_bytes_testing.h"

namespace tilecast {
namespace {

TEST(Custom, TotalsAreDividedEvenlyOverCtas) {
  Custom shape{.ctas = 100, .threads = 256};
  shape.tensor_ops = 1e9;
  shape.vector_ops = 2e6;
  shape.load_bytes = 4e6;
  shape.store_bytes = 1e6;
  shape.l2_load_bytes = 8e6;
  const Launch launch = on_h100(shape, "bf16").launches[0];
  EXPECT_EQ(launch.ctas, 100);
  EXPECT_DOUBLE_EQ(in_ops(launch.tasks[0].each.tensor), 1e7);
  EXPECT_DOUBLE_EQ(in_bytes(launch.tasks[0].each.l2_load), 8e4);
  EXPECT_DOUBLE_EQ(in_bytes(launch.tasks[0].each.l2_store), 1e4);  // defaults to store-bytes
  EXPECT_DOUBLE_EQ(bytes_of(launch, "loads"), 4e6);
  EXPECT_EQ(launch.required, launch.total());
}

TEST(Custom, ImpossibleKernelsAreRefused) {
  EXPECT_FALSE((Custom{.ctas = 1}.check()));  // does nothing
  EXPECT_FALSE((Custom{.ctas = 1, .threads = 2048, .vector_ops = 1}.check()));
  EXPECT_FALSE((Custom{.ctas = 1, .load_bytes = 2, .l2_load_bytes = 1}.check()));
  const auto gpu = find_gpu("H100-SXM");
  ASSERT_TRUE(gpu);
  EXPECT_FALSE(plan(Custom{.ctas = 1, .shared_kib = 1000, .vector_ops = 1}, *format_from("bf16"), *gpu, Context{}));
}

TEST(Custom, ReadsFromTheCommandLine) {
  const auto shape =
      shape_from("custom", {{"ctas", "8"}, {"vector-ops", "1e9"}, {"load-bytes", "1024"}, {"character", "scan"}});
  ASSERT_TRUE(shape) << shape.error().line();
  EXPECT_EQ(shape->as<Custom>().character, Character::scan);
  EXPECT_DOUBLE_EQ(shape->as<Custom>().vector_ops, 1e9);
}

}  // namespace
}  // namespace tilecast
