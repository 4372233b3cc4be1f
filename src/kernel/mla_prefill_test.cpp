#include "kernel/mla_prefill.h"

#include <gtest/gtest.h>

#include "gpu/registry.h"

namespace tilecast {
namespace {

Format bf16() { return *format_from("bf16"); }

// Keys of 192, values of 128: 2 x (192 + 128) operations a pair; FlashAttention 3's tile of 128 x 128.
TEST(MlaPrefill, ByHand) {
  MlaPrefill s;
  s.q_len = 1024, s.heads = 16, s.batch = 2;
  ASSERT_TRUE(s.check().ok());
  const Plan p = *plan(s, bf16(), *find_gpu("H100-SXM"), {});
  const Launch& l = p.launches[0];
  EXPECT_EQ(l.tile.m, 128);
  EXPECT_EQ(l.tile.n, 128);
  ASSERT_EQ(l.tasks.size(), 8u);
  EXPECT_EQ(l.tasks[0].count, 32);
  EXPECT_EQ(in_ops(l.required.tensor), 2.0 * 320 * (1024 * 1025 / 2) * 32);
  EXPECT_EQ(in_ops(l.tasks[7].each.tensor), 2.0 * 320 * 128 * 1024);
  EXPECT_EQ(in_bytes(l.tasks[7].each.l2_load), 128 * 192 * 2 + 1024 * 320 * 2);
}

// An fp8 cache doubles the rate of products where kernels run in fp8, and changes nothing elsewhere.
TEST(MlaPrefill, Fp8Cache) {
  MlaPrefill s;
  s.q_len = 4096, s.heads = 16;
  const auto rate = [&](std::string_view gpu) {
    return plan(s, bf16(), *find_gpu(gpu), {})->launches[0].math.ops_per_clock;
  };
  const double h100 = rate("H100-SXM"), l40s = rate("L40S"), a100 = rate("A100-SXM-80GB");
  s.kv_dtype = CacheType::fp8;
  EXPECT_EQ(rate("H100-SXM"), 2 * h100);
  EXPECT_EQ(rate("L40S"), l40s);
  EXPECT_EQ(rate("A100-SXM-80GB"), a100);
}

// SGLang's tables hold prompts in the absorbed form: one key of 576 elements for all heads, values of 512.
TEST(MlaPrefill, SglangsTablesAreAbsorbed) {
  MlaPrefill s;
  s.q_len = 1024, s.heads = 16;
  Context context;
  context.engine = Launcher::sglang, context.kernel_source = KernelSource::flash_attention;
  const Launch l = plan(s, bf16(), *find_gpu("H100-SXM"), context)->launches[0];
  EXPECT_EQ(in_ops(l.required.tensor), 2.0 * (576 + 512) * (1024 * 1025 / 2) * 16);
  context.kernel_source = {};
  const Launch served = plan(s, bf16(), *find_gpu("H100-SXM"), context)->launches[0];
  EXPECT_EQ(in_ops(served.required.tensor), 2.0 * 320 * (1024 * 1025 / 2) * 16);
}

// vLLM's layer outside a graph unfolds keys and values itself, and pads values where FlashAttention 2 wants one
// dimension.
TEST(MlaPrefill, VllmsLayerUnfoldsItsKeys) {
  MlaPrefill s;
  s.q_len = 1024, s.heads = 16;
  Context context;
  context.engine = Launcher::vllm, context.kernel_source = KernelSource::named("vllm_triton_mla");
  const Gpu a100 = *find_gpu("A100-SXM-80GB");
  const Plan without = *plan(s, bf16(), a100, context);
  for (const Launch& l : without.launches) EXPECT_NE(l.name, "unfold");
  context.runtime = Runtime::eager;
  const Plan p = *plan(s, bf16(), a100, context);
  EXPECT_EQ(in_ops(p.launches[0].required.tensor), 2.0 * 384 * (1024 * 1025 / 2) * 16);
  double unfolded = 0;
  for (const Launch& l : p.launches)
    if (l.name == "unfold") unfolded = in_ops(l.total().tensor);
  EXPECT_NEAR(unfolded, 2.0 * 1024 * 16 * 256 * 512, 1);
}

}  // namespace
}  // namespace tilecast
