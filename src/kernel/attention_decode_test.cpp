#include "kernel/attention_decode.h"

#include <gtest/gtest.h>

#include "gpu/registry.h"
#include "kernel/format.h"

namespace tilecast {
namespace {

AttentionDecode shape_of(Count batch, Count kv_len, Count heads, Count kv_heads) {
  AttentionDecode s;
  s.batch = batch, s.kv_len = kv_len, s.heads = heads, s.kv_heads = kv_heads;
  return s;
}
Plan plan_on(const AttentionDecode& s, const char* gpu) {
  EXPECT_TRUE(s.check().ok());
  return *plan(s, *format_from("bf16"), *find_gpu(gpu), {});
}

// FlashAttention 3 on H100: 4 requests x 8 key heads = 32 tiles of 64 x 128 (four heads packed); 32 blocks; the fewest
// splits within 85 % of the best efficiency (128 of 132 SMs) are 4.
TEST(AttentionDecode, Fa3ByHand) {
  const Plan p = plan_on(shape_of(4, 4096, 32, 8), "H100-SXM");
  ASSERT_EQ(p.launches.size(), 2u);
  const Launch& l = p.launches[0];
  EXPECT_EQ(l.tile.m, 64);
  EXPECT_EQ(l.tile.n, 128);
  EXPECT_EQ(l.split, 4);
  EXPECT_EQ(l.ctas, 128);
  ASSERT_EQ(l.tasks.size(), 1u);
  EXPECT_EQ(l.tasks[0].count, 128);
  EXPECT_EQ(l.tasks[0].steps, 8);
  EXPECT_EQ(in_ops(l.tasks[0].each.tensor), 4.0 * 64 * 1024 * 128);
  // Four real rows, 1024 keys and values, 64 page numbers; partial results in fp32.
  EXPECT_EQ(in_bytes(l.tasks[0].each.l2_load), 4 * 128 * 2 + 2 * 1024 * 128 * 2 + 64 * 4);
  EXPECT_EQ(in_bytes(l.tasks[0].each.l2_store), 4 * 128 * 4);
  EXPECT_EQ(in_ops(l.required.tensor), 4.0 * 4096 * 32 * 4 * 128);
  EXPECT_EQ(p.launches[1].ctas, 4 * 32 / 4);
  EXPECT_EQ(in_bytes(p.launches[1].total().l2_load), 4 * 32 * 4 * (128 + 1) * 4.0);
}

// FlashAttention 2 on A100: 8 tiles of 64 x 128, 8 blocks, 216 places: one block each.
TEST(AttentionDecode, Fa2ByHand) {
  const Plan p = plan_on(shape_of(1, 1024, 32, 8), "A100-SXM-80GB");
  const Launch& l = p.launches[0];
  EXPECT_EQ(l.split, 8);
  EXPECT_EQ(l.ctas, 64);
  ASSERT_EQ(l.tasks.size(), 1u);
  EXPECT_EQ(in_bytes(l.tasks[0].each.l2_load), 4 * 128 * 2 + 2 * 128 * 128 * 2 + 8 * 4);
}

TEST(AttentionDecode, LastShareIsShort) {
  const Plan p = plan_on(shape_of(4, 4000, 32, 8), "H100-SXM");  // 32 blocks, the last of 32 keys
  const Launch& l = p.launches[0];
  ASSERT_EQ(l.tasks.size(), 2u);
  EXPECT_EQ(l.tasks[0].count, 96);
  EXPECT_EQ(l.tasks[1].count, 32);
  EXPECT_EQ(in_bytes(l.tasks[1].each.l2_load), 4 * 128 * 2 + 2 * (4000 - 3 * 1024) * 128 * 2 + 58 * 4);
}

TEST(AttentionDecode, ManyRequestsNeedNoSplit) {
  const Plan p = plan_on(shape_of(64, 2048, 32, 8), "H100-SXM");
  EXPECT_EQ(p.launches.size(), 1u);
  EXPECT_EQ(p.launches[0].tasks[0].count, 512);
}

TEST(AttentionDecode, CacheAndWindowDecideTheBytes) {
  const auto cache_bytes = [](const AttentionDecode& s) {
    double sum = 0;
    const Plan planned = plan_on(s, "H100-SXM");
    for (const Operand& operand : planned.launches[0].operands)
      if (operand.name == "k" || operand.name == "v") sum += in_bytes(operand.size);
    return sum;
  };
  AttentionDecode s = shape_of(16, 8192, 32, 8);
  EXPECT_EQ(cache_bytes(s), 2.0 * 16 * 8192 * 8 * 128 * 2);
  s.kv_dtype = CacheType::fp8;
  EXPECT_EQ(cache_bytes(s), 2.0 * 16 * 8192 * 8 * 128);
  s.window = 1024;
  EXPECT_EQ(cache_bytes(s), 2.0 * 16 * 1024 * 8 * 128);
  s.lens = {100, 2000};
  s.batch = 1;
  EXPECT_EQ(cache_bytes(s), 2.0 * (100 + 1024) * 8 * 128);
}

// The same requests, given one by one or as a batch.
TEST(AttentionDecode, ListOfEqualLengthsIsABatch) {
  AttentionDecode listed = shape_of(1, 0, 32, 8);
  listed.lens = {4096, 4096, 4096, 4096};
  const Plan a = plan_on(listed, "H100-SXM"), b = plan_on(shape_of(4, 4096, 32, 8), "H100-SXM");
  EXPECT_EQ(a.launches[0].total(), b.launches[0].total());
}

TEST(AttentionDecode, MissingLengthIsNamed) { EXPECT_EQ(shape_of(1, 0, 8, 8).check().error().field, "kv-len"); }

}  // namespace
}  // namespace tilecast
