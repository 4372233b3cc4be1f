// Attention on AMD's cards: Composable Kernel's and AITER's tiles, vLLM's paged kernels.
#include <gtest/gtest.h>

#include "gpu/registry.h"
#include "kernel/attention_decode.h"
#include "kernel/attention_prefill.h"
#include "kernel/format.h"
#include "kernel/pipeline.h"

namespace tilecast {
namespace {

template <class Shape>
Result<Plan> plan_on(const Shape& shape, const char* gpu, std::string_view source = {}, const char* dtype = "bf16",
                     std::string_view engine = {}) {
  Context context;
  context.kernel_source = KernelSource::named(source), context.engine = Launcher::named(engine);
  return plan(shape, *format_from(dtype), *find_gpu(gpu), context);
}

AttentionPrefill prompt(Count dim) {
  AttentionPrefill s;
  s.batch = 2, s.q_len = 1024, s.heads = 32, s.kv_heads = 8, s.head_dim = dim;
  return s;
}
AttentionDecode step(Count batch, Count keys, Count heads, Count kv_heads) {
  AttentionDecode s;
  s.batch = batch, s.kv_len = keys, s.heads = heads, s.kv_heads = kv_heads;
  return s;
}

// fmha_fwd.py's table: 128 rows, 64 keys up to heads of 64 and 128 beyond, waves of 64 lanes; three pieces of 32
// columns in the LDS.
TEST(AmdAttention, ComposableKernelsTilesByHand) {
  const Launch wide = plan_on(prompt(128), "MI300X")->launches[0];
  EXPECT_EQ(wide.tile.m, 128);
  EXPECT_EQ(wide.tile.n, 128);
  EXPECT_EQ(wide.cta.threads, 256);
  EXPECT_EQ(wide.cta.registers, 131072 / (256 * 2));
  EXPECT_EQ(in_bytes(wide.cta.shared_memory), 3 * 32 * 128 * 2);
  EXPECT_EQ(wide.ctas, 2 * 32 * 1024 / 128);
  EXPECT_EQ(wide.dispatch, Dispatch::waves);
  const Launch narrow = plan_on(prompt(64), "MI210")->launches[0];
  EXPECT_EQ(narrow.tile.n, 64);
  EXPECT_EQ(in_bytes(narrow.cta.shared_memory), 3 * 32 * 64 * 2);
  EXPECT_EQ(plan_on(prompt(32), "MI300X")->launches[0].cta.threads, 128);
  EXPECT_EQ(plan_on(prompt(128), "MI300X", "aiter_flash_attention")->launches[0].tile.m, 256);
}

TEST(AmdAttention, VendorsKernelsStayOnTheirCards) {
  EXPECT_FALSE(plan_on(prompt(128), "H100-SXM", "ck_flash_attention"));
  EXPECT_FALSE(plan_on(prompt(128), "MI210", "aiter_flash_attention"));
  EXPECT_TRUE(plan_on(prompt(128), "MI355X", "aiter_flash_attention"));
}

// A CTA for every query head and request walks all 1000 keys: 121 clocks each in fp16, 228 in bf16, and a sixty-third
// step of sixteen that costs one.
TEST(AmdAttention, PagedAttentionByHand) {
  const PipelineLatency card = pipeline_latency(*find_gpu("MI300X"));
  const auto steps = [&](const char* dtype) {
    const Launch l = plan_on(step(64, 1000, 32, 8), "MI300X", "vllm_paged_attention_v1", dtype)->launches[0];
    EXPECT_EQ(l.ctas, 64 * 32);
    EXPECT_EQ(l.split, 1);
    EXPECT_TRUE(l.serial_steps);
    EXPECT_EQ(l.tasks.size(), 1u);
    return l.tasks[0].steps * card.step_clocks;
  };
  const double own = std::max(0.0, 500 - card.task_clocks * card.wave_share);
  EXPECT_NEAR(steps("fp16"), own + 63 + 1000 * 121, 1e-6);
  EXPECT_NEAR(steps("bf16"), own + 63 + 1000 * 228, 1e-6);
}

// 1000 keys are four shares of 256; a group of four query heads is one tile.
TEST(AmdAttention, RocmSplitsEvery256Keys) {
  for (const char* source : {"", "rocm_paged_attention", "rocm_paged_attention_2024"}) {
    const Plan p = *plan_on(step(16, 1000, 32, 8), "MI300X", source);
    EXPECT_EQ(p.launches[0].split, 4) << source;
    EXPECT_EQ(p.launches[0].ctas, 16 * 8 * 4) << source;
    EXPECT_EQ(p.launches.size(), 2u) << source;
  }
  // Too wide a group, and a head dimension it was not built for: vLLM's plain kernel.
  const auto in_vllm = [](const AttentionDecode& s) {
    return plan_on(s, "MI300X", "rocm_paged_attention", "bf16", "vllm")->launches[0].ctas;
  };
  EXPECT_EQ(in_vllm(step(16, 1000, 32, 1)), 16 * 32);
  AttentionDecode odd = step(16, 1000, 32, 8);
  odd.head_dim = 80;
  EXPECT_EQ(in_vllm(odd), 16 * 32);
}

}  // namespace
}  // namespace tilecast
