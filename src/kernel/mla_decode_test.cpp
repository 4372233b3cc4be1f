#include "kernel/mla_decode.h"

#include <gtest/gtest.h>

#include "gpu/registry.h"

namespace tilecast {
namespace {

Format bf16() { return *format_from("bf16"); }

// 128 heads are two tiles of 64 rows; 66 parts for 64 blocks of 64 tokens: one block a CTA.
TEST(MlaDecode, ByHand) {
  MlaDecode s;
  s.kv_len = 4096, s.heads = 128;
  ASSERT_TRUE(s.check().ok());
  const Plan p = *plan(s, bf16(), *find_gpu("H100-SXM"), {});
  const Launch& l = p.launches[0];
  EXPECT_EQ(l.ctas, 128);
  ASSERT_EQ(l.tasks.size(), 1u);
  EXPECT_EQ(l.tasks[0].steps, 1);
  EXPECT_EQ(in_ops(l.tasks[0].each.tensor), 2.0 * 64 * 64 * (576 + 512));
  EXPECT_EQ(in_bytes(l.tasks[0].each.l2_load), 64 * 576 * 2 + 64 * 576 * 2);  // the latent once, as key and value
  EXPECT_EQ(in_bytes(l.tasks[0].each.l2_store), 64 * 512 * 4);
  EXPECT_EQ(in_ops(l.required.tensor), 2.0 * 4096 * 128 * (576 + 512));
  ASSERT_EQ(p.launches.size(), 2u);
  EXPECT_EQ(p.launches[1].ctas, 128 / 4);
}

TEST(MlaDecode, LatentIsReadOnceForAllHeads) {
  for (const Count heads : {16, 128}) {
    MlaDecode s;
    s.kv_len = 8192, s.heads = heads, s.batch = 32;
    double latent = 0;
    const Plan p = *plan(s, bf16(), *find_gpu("B200"), {});
    for (const Operand& operand : p.launches[0].operands)
      if (operand.name == "latent") latent = in_bytes(operand.size);
    EXPECT_EQ(latent, 32.0 * 8192 * 576 * 2);
  }
}

TEST(MlaDecode, AnFp8CacheMultipliesInFp8WhereItCan) {
  MlaDecode s;
  s.kv_len = 8192, s.heads = 128;
  s.kv_dtype = CacheType::fp8;
  EXPECT_EQ(plan(s, bf16(), *find_gpu("B200"), {})->launches[0].math.input, DType::fp8);
  EXPECT_EQ(plan(s, bf16(), *find_gpu("A100-SXM-80GB"), {})->launches[0].math.input, DType::bf16);
}

TEST(MlaDecode, TasksCoverRequirementsOnEveryGpu) {
  for (const Gpu& gpu : built_in_gpus())
    for (const Count batch : {1, 7, 300}) {
      MlaDecode s;
      s.kv_len = 1000, s.heads = 16, s.batch = batch;
      const auto p = plan(s, *format_from("fp16"), gpu, {});
      ASSERT_TRUE(p.ok()) << gpu.name;
      const Launch& l = p->launches[0];
      EXPECT_GE(l.total().tensor, l.required.tensor) << gpu.name;
      EXPECT_GE(l.total().vector, l.required.vector) << gpu.name;
      EXPECT_GE(in_bytes(l.total().l2_load), 1000.0 * static_cast<double>(batch) * 576 * 2 * 0.999);
    }
}

}  // namespace
}  // namespace tilecast
