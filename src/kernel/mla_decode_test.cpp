#include "kernel/mla_decode.h"

#include <gtest/gtest.h>

#include "constants/mla.h"
#include "gpu/registry.h"
#include "kernel/mla_sources.h"
#include "kernel/pipeline.h"

namespace tilecast {
namespace {

using namespace constants;

Context by(std::string_view engine, std::string_view source) {
  Context context;
  context.engine = Launcher::named(engine), context.kernel_source = KernelSource::named(source);
  return context;
}

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
  // A request, 64 rows and a block of keys, in the card's own steps.
  EXPECT_DOUBLE_EQ(l.tasks[0].steps * pipeline_latency(*find_gpu("H100-SXM")).step_clocks,
                   kFlashMla.task.value + 64 * kFlashMla.row.value + kFlashMla.block.value);
  EXPECT_EQ(in_ops(l.tasks[0].each.tensor), 2.0 * 64 * 64 * (576 + 512));
  EXPECT_EQ(in_bytes(l.tasks[0].each.l2_load), 64 * 576 * 2 + 64 * 576 * 2);  // the latent once, as key and value
  EXPECT_EQ(in_bytes(l.tasks[0].each.l2_store), 64 * 512 * 4);
  EXPECT_EQ(in_ops(l.required.tensor), 2.0 * 4096 * 128 * (576 + 512));
  ASSERT_EQ(p.launches.size(), 2u);  // with the kernel that joins the parts
  EXPECT_EQ(p.launches[1].ctas, 128 / 4);
  EXPECT_EQ(plan(s, bf16(), *find_gpu("H100-SXM"), by("trtllm", "default"))->launches.size(), 3u);  // stores
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

// TensorRT-LLM before Hopper and on workstation Blackwell: no request's keys are shared out, so a long cache takes as
// long alone as beside others.
TEST(MlaDecode, UnsplitKernelsWalkAllKeysInOneCta) {
  MlaDecode s;
  s.kv_len = 8192, s.heads = 16, s.batch = 2;
  const Launch l = plan(s, bf16(), *find_gpu("L40S"), by("trtllm", "default"))->launches[0];
  EXPECT_EQ(l.split, 1);
  EXPECT_EQ(l.ctas, 2 * 4);  // four share the values
  EXPECT_DOUBLE_EQ(l.tasks[0].steps * pipeline_latency(*find_gpu("L40S")).step_clocks,
                   kUnsplitMla.task.value + 16 * kUnsplitMla.row.value + 128 * kUnsplitMla.block.value);
}

TEST(MlaDecode, TritonLaunchesSharesThatFindNoKeys) {
  MlaDecode s;
  s.kv_len = 40, s.heads = 128, s.batch = 8;  // two blocks of 32 keys, eight tiles of 16 heads
  const Launch served = plan(s, bf16(), *find_gpu("L40S"), by("sglang", "triton"))->launches[0];
  ASSERT_EQ(served.tasks.size(), 2u);
  EXPECT_EQ(served.tasks[0].count, 8 * 8 * 2);
  EXPECT_EQ(served.tasks[1].count, 8 * 8 * 30);
  EXPECT_EQ(in_bytes(served.tasks[1].each.l2_load), 0);
  const Launch vllm = plan(s, bf16(), *find_gpu("L40S"), by("vllm", "vllm_triton_mla"))->launches[0];
  EXPECT_EQ(vllm.ctas, 8 * 8 * 4);
}

TEST(MlaDecode, SglangWidensAnFp8CacheForFlashAttention) {
  MlaDecode s;
  s.kv_len = 8192, s.heads = 16, s.batch = 64;
  s.kv_dtype = CacheType::fp8;
  const Gpu gpu = *find_gpu("H100-SXM");
  const Plan p = *plan(s, bf16(), gpu, by("sglang", "flash_attention"));
  EXPECT_EQ(p.launches[0].math.input, DType::bf16);
  double stored = 0;
  for (const Launch& l : p.launches)
    if (l.name == "widen_cache") stored = in_bytes(l.total().l2_store);
  EXPECT_NEAR(stored, 2.0 * 64 * 8192 * 576, 1);
  const Plan other = *plan(s, bf16(), gpu, by("trtllm", "default"));
  for (const Launch& l : other.launches) EXPECT_NE(l.name, "widen_cache");
}

// vLLM's layer outside a graph waits for the host; in a graph, and in other engines, nothing is known to.
TEST(MlaDecode, OnlyALayerOutsideAGraphWaitsForTheHost) {
  MlaDecode s;
  s.kv_len = 128, s.heads = 16;
  Context eager = by("vllm", "vllm_triton_mla");
  const Gpu gpu = *find_gpu("L40S");
  EXPECT_EQ(host_time(*plan(s, bf16(), gpu, eager), eager), seconds(0));
  eager.runtime = Runtime::eager;
  EXPECT_EQ(host_time(*plan(s, bf16(), gpu, eager), eager), microseconds(kMlaHostTriton));
}

}  // namespace
}  // namespace tilecast
