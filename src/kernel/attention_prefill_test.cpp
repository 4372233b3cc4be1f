#include "kernel/attention_prefill.h"

#include <gtest/gtest.h>

#include <random>

#include "gpu/registry.h"
#include "kernel/kernel.h"
#include "kernel/pipeline.h"

namespace tilecast {
namespace {

Plan plan_on(const AttentionPrefill& shape, const char* gpu, const char* dtype = "bf16") {
  EXPECT_TRUE(shape.check().ok());
  return *plan(shape, *format_from(dtype), *find_gpu(gpu), {});
}

AttentionPrefill shape_of(Count batch, Count q_len, Count heads, Count kv_heads, Count dim = 128) {
  AttentionPrefill s;
  s.batch = batch, s.q_len = q_len, s.heads = heads, s.kv_heads = kv_heads, s.head_dim = dim;
  return s;
}

double operand_bytes(const Launch& launch, std::string_view name) {
  for (const Operand& operand : launch.operands)
    if (operand.name == name) return in_bytes(operand.size);
  return -1;
}

// Key blocks that a task's steps stand for: its steps hold, in the card's own, `task_clocks` beyond the card's prologue
// and for every block a step and one and a half times its products at peak.
double blocks_of(const TaskGroup& task, const Launch& l, const char* gpu, double task_clocks) {
  const PipelineLatency card = pipeline_latency(*find_gpu(gpu));
  const double own = std::max(0.0, task_clocks - card.task_clocks * card.wave_share);
  const double products = 2.0 * l.tile.m * l.tile.n * 2 * l.tile.k / l.math.ops_per_clock;
  return (task.steps * card.step_clocks - own) / (card.step_clocks + 1.5 * products);
}
constexpr double kFa2Task = 3000, kFa3Task = 6000;

// Heads of an encoder: cuDNN computes 72 as 128 and FlashAttention 2 as 96, by the kernels that an H200 ran.
TEST(AttentionPrefill, EncoderHeadsArePaddedAsTheirKernelsAre) {
  const auto width = [](AttentionAlgorithm algorithm, const char* gpu, Count dim) {
    AttentionPrefill s = shape_of(16, 729, 16, 16, dim);
    s.mask = AttentionMask::full, s.algorithm = algorithm;
    return plan_on(s, gpu).launches[0].tile.k;
  };
  EXPECT_EQ(width(AttentionAlgorithm::cudnn, "H200-SXM", 72), 128);
  EXPECT_EQ(width(AttentionAlgorithm::cudnn, "H200-SXM", 64), 64);
  EXPECT_EQ(width(AttentionAlgorithm::fa2, "H200-SXM", 80), 96);
  EXPECT_EQ(width(AttentionAlgorithm::efficient, "H200-SXM", 80), 128);
  EXPECT_EQ(width(AttentionAlgorithm::blackwell, "B200", 72), 128);
}

// Kernels of mma.sync reach 0.63 of Hopper's tensor pipe, and all of Ampere's.
TEST(AttentionPrefill, OlderInstructionsOnHopper) {
  AttentionPrefill s = shape_of(1, 4096, 32, 32);
  s.algorithm = AttentionAlgorithm::fa2;
  EXPECT_NEAR(plan_on(s, "H100-SXM").launches[0].math_share, 0.63, 1e-9);
  EXPECT_EQ(plan_on(s, "A100-SXM-80GB").launches[0].math_share, 1);
  s.algorithm = AttentionAlgorithm::cudnn;
  const Launch cudnn = plan_on(s, "H100-SXM").launches[0];
  EXPECT_EQ(cudnn.math_share, 1);
  EXPECT_EQ(cudnn.ctas, 132);                                     // persistent
  EXPECT_EQ(plan_on(s, "A100-SXM-80GB").launches[0].tile.n, 64);  // cuDNN before Hopper is built like FlashAttention 2
}

// FlashAttention 2 on A100: tiles of 128 x 64. Of 256 queries the first tile sees 128 keys (2 blocks), the second 256
// (4).
TEST(AttentionPrefill, Fa2CausalByHand) {
  const Plan p = plan_on(shape_of(32, 256, 8, 4), "A100-SXM-80GB");
  ASSERT_EQ(p.launches.size(), 1u);
  const Launch& l = p.launches[0];
  EXPECT_EQ(l.ctas, 2 * 32 * 8);
  ASSERT_EQ(l.tasks.size(), 2u);
  EXPECT_EQ(l.tasks[0].count, 256);
  EXPECT_EQ(l.tasks[1].count, 256);
  EXPECT_NEAR(blocks_of(l.tasks[0], l, "A100-SXM-80GB", kFa2Task), 2, 1e-9);
  EXPECT_NEAR(blocks_of(l.tasks[1], l, "A100-SXM-80GB", kFa2Task), 4, 1e-9);
  EXPECT_EQ(in_ops(l.tasks[0].each.tensor), 4.0 * 128 * (2 * 64) * 128);
  EXPECT_EQ(in_ops(l.tasks[1].each.tensor), 4.0 * 128 * (4 * 64) * 128);
  EXPECT_EQ(in_ops(l.tasks[0].each.xu), 128.0 * 128);
  // Q once, K and V for every query head's tile; the result once.
  EXPECT_EQ(in_bytes(l.tasks[0].each.l2_load), 128 * 128 * 2 + 2 * 128 * 128 * 2);
  EXPECT_EQ(in_bytes(l.tasks[1].each.l2_load), 128 * 128 * 2 + 2 * 256 * 128 * 2);
  EXPECT_EQ(in_bytes(l.tasks[1].each.l2_store), 128 * 128 * 2);
  EXPECT_EQ(in_ops(l.required.tensor), 4.0 * 128 * (256 * 257 / 2) * 256);
  EXPECT_EQ(in_ops(l.required.xu), (256.0 * 257 / 2) * 256);
  EXPECT_EQ(operand_bytes(l, "q"), 32.0 * 256 * 8 * 128 * 2);
  EXPECT_EQ(operand_bytes(l, "k"), 32.0 * 256 * 4 * 128 * 2);
  EXPECT_EQ(operand_bytes(l, "v"), 32.0 * 256 * 4 * 128 * 2);
  EXPECT_EQ(operand_bytes(l, "out"), 32.0 * 256 * 8 * 128 * 2);
  EXPECT_EQ(l.dispatch, Dispatch::waves);
  EXPECT_EQ(l.order, Order::interleaved);
}

// FlashAttention 3: one persistent CTA an SM, tiles of 128 x 128, longest first.
TEST(AttentionPrefill, Fa3CausalByHand) {
  const Plan p = plan_on(shape_of(2, 1024, 32, 8), "H100-SXM");
  const Launch& l = p.launches[0];
  EXPECT_EQ(l.ctas, 132);
  ASSERT_EQ(l.tasks.size(), 8u);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(l.tasks[static_cast<std::size_t>(i)].count, 64);
    EXPECT_NEAR(blocks_of(l.tasks[static_cast<std::size_t>(i)], l, "H100-SXM", kFa3Task), i + 1, 1e-9);
  }
  EXPECT_EQ(l.dispatch, Dispatch::longest_first);
  EXPECT_EQ(in_ops(l.total().tensor), 4.0 * 128 * 128 * 128 * (8 * 9 / 2) * 64);
}

// vLLM stores keys and values in its cache first: 2 x 1024 tokens x 8 heads x 256 elements, three passes of two bytes.
// TensorRT-LLM moves them twice, and queries of 32 heads three times, on data-centre Blackwell five.
TEST(AttentionPrefill, EnginesStoreTheirKeys) {
  Context context;
  context.engine = Launcher::vllm, context.kernel_source = KernelSource::vllm_flash_attn_fa3;
  const auto moved = [&](const AttentionPrefill& s, const char* gpu = "H100-SXM") {
    double sum = 0;
    const Plan planned = *plan(s, *format_from("bf16"), *find_gpu(gpu), context);
    for (const Launch& l : planned.launches)
      if (l.name == "attention_copy") sum += in_bytes(l.total().l2_load + l.total().l2_store);
    return sum;
  };
  AttentionPrefill s = shape_of(2, 1024, 32, 8);
  EXPECT_EQ(moved(s), 3.0 * 2 * 1024 * 8 * 256 * 2);
  const AttentionPrefill prompts = s;
  s.mask = AttentionMask::full;  // an encoder has no cache
  EXPECT_EQ(moved(s), 0);
  context.engine = Launcher::trtllm, context.kernel_source = KernelSource::torch_flow;
  const double queries = 2.0 * 2 * 1024 * 32 * 128, keys = 2.0 * 2 * 1024 * 8 * 256;
  EXPECT_EQ(moved(prompts, "L40S"), 3 * queries + 2 * keys);
  EXPECT_EQ(moved(prompts, "B200"), 5 * queries + 2 * keys);
}

// FlashInfer packs the 8 heads of a group: 16 queries are 128 rows, one tile for each of 64 requests and 4 key heads.
// FlashAttention 2 gives each of the 32 heads a tile of its own.
TEST(AttentionPrefill, FlashInferPacksGroups) {
  const AttentionPrefill s = shape_of(64, 16, 32, 4);
  Context context;
  const auto ctas = [&](std::string_view source, const AttentionPrefill& shape) {
    context.kernel_source = KernelSource::named(source);
    return plan(shape, *format_from("bf16"), *find_gpu("L40S"), context)->launches.front().ctas;
  };
  EXPECT_EQ(ctas("flashinfer", s), 64 * 4);
  EXPECT_EQ(ctas("vllm_flash_attn_fa2", s), 64 * 32);
  // 64 rows of two requests over 4096 keys: 8 tiles; 2 x 142 SMs have room for 35 chunks, 128 keys each are 32.
  AttentionPrefill few = shape_of(2, 8, 32, 4);
  few.kv_len = 4096;
  EXPECT_EQ(ctas("flashinfer", few), 8 * 32);
  EXPECT_EQ(ctas("vllm_flashinfer_trtllmprefill", s), ctas("vllm_flash_attn_fa2", s));
}

// 24 heads that share a key head: a CTA for each, or rows of one.
TEST(AttentionPrefill, TrtllmHasACtaForEveryHead) {
  const auto launch = [](const char* gpu, const char* engine, const char* source, Count q_len) {
    Context context;
    context.engine = Launcher::named(engine);
    context.kernel_source = KernelSource::named(source);
    return plan(shape_of(64, q_len, 24, 1), *format_from("bf16"), *find_gpu(gpu), context)->launches[0];
  };
  const auto tasks = [](const Launch& l) {
    Count sum = 0;
    for (const TaskGroup& group : l.tasks) sum += group.count;
    return sum;
  };
  EXPECT_EQ(tasks(launch("H200-SXM", "trtllm", "torch_flow", 16)), 64 * 24);
  EXPECT_EQ(tasks(launch("B200", "vllm", "vllm_flashinfer_trtllmprefill", 16)), 64 * 24);
  EXPECT_EQ(launch("B200", "vllm", "vllm_flashinfer_trtllmprefill", 16).tile.m, 128);
  EXPECT_LE(tasks(launch("B200", "vllm", "vllm_flashinfer_trtllmdecode", 1)), 64 * 2) << "a decode";
  // Two heads of one request leave most SMs idle: FlashAttention splits the keys, TensorRT-LLM does not.
  const auto splits = [](const char* engine, const char* source) {
    Context context;
    context.engine = Launcher::named(engine);
    context.kernel_source = KernelSource::named(source);
    return plan(shape_of(1, 512, 2, 1, 256), *format_from("bf16"), *find_gpu("H200-SXM"), context)->launches[0].split;
  };
  EXPECT_GT(splits("vllm", "vllm_flash_attn_fa3"), 1);
  EXPECT_EQ(splits("trtllm", "torch_flow"), 1);
  EXPECT_LE(tasks(launch("H200-SXM", "vllm", "vllm_flash_attn_fa3", 16)), 64 * 24 / 4);
}

TEST(AttentionPrefill, Fp32RunsOnXformersKernels) {
  const auto tile = [](Count dim, const char* dtype) {
    return plan_on(shape_of(1, 4096, 8, 8, dim), "H100-SXM", dtype).launches[0].tile;
  };
  EXPECT_EQ(tile(64, "fp32").m, 64);
  EXPECT_EQ(tile(128, "fp32").n, 128);
  EXPECT_EQ(tile(256, "fp32").m, 32);
  EXPECT_EQ(tile(512, "fp32").n, 128) << "operands pass through shared memory piece by piece";
  EXPECT_EQ(tile(128, "bf16").m, 128) << "FlashAttention 3";
}

TEST(AttentionPrefill, FullMaskHasOneGroupAndItsEdge) {
  AttentionPrefill s = shape_of(8, 1000, 16, 16);
  s.mask = AttentionMask::full;
  const Plan p = plan_on(s, "H100-SXM");  // 128 x 176: 8 tiles, the last of 104 rows; 6 blocks
  const Launch& l = p.launches[0];
  ASSERT_EQ(l.tasks.size(), 2u);
  EXPECT_EQ(l.tasks[0].count, 7 * 128);
  EXPECT_EQ(l.tasks[1].count, 128);
  EXPECT_NEAR(blocks_of(l.tasks[0], l, "H100-SXM", kFa3Task), 6, 1e-9);
  EXPECT_EQ(in_bytes(l.tasks[1].each.l2_store), 104.0 * 128 * 2);
  EXPECT_EQ(l.dispatch, Dispatch::persistent);
  EXPECT_EQ(in_ops(l.required.tensor), 4.0 * 128 * 1000 * 1000 * 128);
}

TEST(AttentionPrefill, CachedPrefix) {
  AttentionPrefill s = shape_of(16, 128, 32, 32);
  s.kv_len = 1024;
  const Plan p = plan_on(s, "H100-SXM");
  ASSERT_EQ(p.launches[0].tasks.size(), 1u);
  EXPECT_NEAR(blocks_of(p.launches[0].tasks[0], p.launches[0], "H100-SXM", kFa3Task), 8, 1e-9);
  EXPECT_EQ(in_ops(p.launches[0].required.xu), 16.0 * 32 * (897 + 1024) * 128 / 2);
}

// A window of 128 keys: a tile of 128 rows starts up to 127 keys before its first row, so it spans two blocks of 128.
TEST(AttentionPrefill, WindowBoundsTheBlocks) {
  AttentionPrefill s = shape_of(4, 4096, 32, 32);
  s.window = 128;
  const Plan p = plan_on(s, "H100-SXM");
  const Launch& l = p.launches[0];
  ASSERT_EQ(l.tasks.size(), 2u);
  EXPECT_EQ(l.tasks[0].count, 4 * 32);  // the first tile sees one block
  EXPECT_NEAR(blocks_of(l.tasks[0], l, "H100-SXM", kFa3Task), 1, 1e-9);
  EXPECT_EQ(l.tasks[1].count, 31 * 4 * 32);
  EXPECT_NEAR(blocks_of(l.tasks[1], l, "H100-SXM", kFa3Task), 2, 1e-9);
}

TEST(AttentionPrefill, VariableLengths) {
  AttentionPrefill s = shape_of(1, 0, 16, 16);
  s.lens = {300, 100, 300};
  const Plan p = plan_on(s, "H100-SXM");
  EXPECT_EQ(in_ops(p.launches[0].required.xu), 16.0 * (2 * 300 * 301 / 2 + 100 * 101 / 2));
  EXPECT_EQ(operand_bytes(p.launches[0], "q"), 700.0 * 16 * 128 * 2);
  s.kv_lens = {400, 200};
  EXPECT_FALSE(s.check().ok());
}

// Few tiles of queries share out their keys and join afterwards.
TEST(AttentionPrefill, ChunkAgainstLongCacheSplits) {
  AttentionPrefill s = shape_of(1, 16, 8, 8);
  s.kv_len = 16384;
  const Plan p = plan_on(s, "A100-SXM-80GB");
  EXPECT_GT(p.launches[0].split, 1);
  EXPECT_EQ(p.launches[0].tile.m, 64);
  ASSERT_EQ(p.launches.size(), 2u);
  EXPECT_EQ(p.launches[1].ctas, 16 * 8 / 4);
}

TEST(AttentionPrefill, NoCertainExponentialsOnBlackwell) {
  EXPECT_EQ(in_ops(plan_on(shape_of(1, 4096, 32, 8), "B200").launches[0].required.xu), 0);
  EXPECT_GT(in_ops(plan_on(shape_of(1, 4096, 32, 8), "RTX 5090").launches[0].required.xu), 0);
}

TEST(AttentionPrefill, OnlyANamedPlanIsKnown) {
  AttentionPrefill s = shape_of(1, 4096, 32, 8);
  EXPECT_FALSE(plan_on(s, "H100-SXM").launches[0].plan_known);
  s.algorithm = AttentionAlgorithm::fa3;
  EXPECT_TRUE(plan_on(s, "H100-SXM").launches[0].plan_known);
}

TEST(AttentionPrefill, RefusesNonsense) {
  AttentionPrefill s = shape_of(1, 64, 30, 8);
  EXPECT_EQ(s.check().error().field, "kv-heads");
  s = shape_of(1, 64, 8, 8);
  s.kv_len = 32;
  EXPECT_EQ(s.check().error().field, "kv-len");
  s = shape_of(1, 0, 8, 8);
  EXPECT_FALSE(s.check().ok());
  EXPECT_FALSE(plan(shape_of(1, 64, 8, 8), *format_from("nvfp4"), *find_gpu("B200"), {}).ok());
}

// What is executed covers what is required, and everything is read and written at least once.
TEST(AttentionPrefill, TasksCoverRequirements) {
  std::mt19937 random(1);
  for (const char* gpu : {"A100-SXM-80GB", "L40S", "H100-SXM", "B200", "RTX 5090", "T4", "MI300X"})
    for (int trial = 0; trial < 60; ++trial) {
      AttentionPrefill s;
      s.batch = 1 + random() % 8, s.kv_heads = 1 + random() % 8, s.heads = s.kv_heads * (1 + random() % 8);
      s.q_len = 1 + random() % 3000, s.kv_len = s.q_len + random() % 3000, s.head_dim = 16 * (1 + random() % 16);
      s.window = random() % 2 ? random() % 1000 : 0;
      s.mask = s.window == 0 && random() % 3 == 0 ? AttentionMask::full : AttentionMask::causal;
      const Launch l = plan_on(s, gpu, "fp16").launches[0];
      const Demand all = l.total();
      EXPECT_GE(all.tensor, l.required.tensor) << gpu << dims_text(s);
      EXPECT_GE(all.vector, l.required.vector);
      EXPECT_GE(all.xu, l.required.xu);
      EXPECT_GE(in_bytes(all.l2_load) * (1 + 1e-12),
                operand_bytes(l, "q") + operand_bytes(l, "k") + operand_bytes(l, "v"))
          << gpu << dims_text(s);
      EXPECT_GE(in_bytes(all.l2_store), operand_bytes(l, "out"));
    }
}

// TensorRT-LLM on mma.sync has fp8 kernels for heads of 128, not of 64 and 256.
TEST(AttentionPrefill, TrtllmMultipliesOddHeadsAtSixteenBits) {
  Context trtllm;
  trtllm.engine = Launcher::trtllm, trtllm.kernel_source = KernelSource::torch_flow;
  const auto input = [&](const char* gpu, Count dim, const Context& context) {
    return plan(shape_of(2, 1024, 8, 8, dim), *format_from("fp8"), *find_gpu(gpu), context)->launches[0].math.input;
  };
  EXPECT_EQ(input("L40S", 128, trtllm), DType::fp8);
  EXPECT_EQ(input("L40S", 64, trtllm), DType::bf16);
  EXPECT_EQ(input("RTX-PRO-6000-Blackwell-Server", 256, trtllm), DType::bf16);
  EXPECT_EQ(input("H100-SXM", 256, trtllm), DType::fp8);
  EXPECT_EQ(input("L40S", 64, {}), DType::fp8);
}

}  // namespace
}  // namespace tilecast
