#include "kernel/kv_write.h"

#include "kernel/kernel.h"
#include "kernel/plan_bytes_testing.h"

namespace tilecast {
namespace {

// 3 tokens of 8 heads x 128: K and V are 2*3*1024 = 6144 elements.
TEST(KvWrite, CountsByHand) {
  const Launch launch = on_h100(KvWrite{3, 8, 128}, "bf16").launches[0];
  EXPECT_EQ(launch.ctas, 3);
  EXPECT_EQ(launch.cta.threads, 512);
  EXPECT_EQ(launch.tasks[0].steps, 2);
  EXPECT_DOUBLE_EQ(bytes_of(launch, "keys_values"), 12288);
  EXPECT_DOUBLE_EQ(bytes_of(launch, "cache"), 12288);
  EXPECT_DOUBLE_EQ(in_ops(launch.total().vector), 0);
}

TEST(KvWrite, CacheFormatFollowsTheType) {
  const Launch launch = on_h100(KvWrite{3, 8, 128}, "fp8").launches[0];
  EXPECT_DOUBLE_EQ(bytes_of(launch, "keys_values"), 12288);  // still bf16
  EXPECT_DOUBLE_EQ(bytes_of(launch, "cache"), 6144);
  EXPECT_DOUBLE_EQ(in_ops(launch.total().vector), 2 * 2 * 6144);
  // Weight-only types leave the cache in bf16.
  EXPECT_DOUBLE_EQ(bytes_of(on_h100(KvWrite{3, 8, 128}, "int4_wo").launches[0], "cache"), 12288);
}

}  // namespace
}  // namespace tilecast
