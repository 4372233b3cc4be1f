#include "kernel/attention_decode.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "gpu/registry.h"
#include "kernel/attention_sources.h"
#include "kernel/format.h"
#include "kernel/pipeline.h"

namespace tilecast {
namespace {

AttentionDecode shape_of(Count batch, Count kv_len, Count heads, Count kv_heads) {
  AttentionDecode s;
  s.batch = batch, s.kv_len = kv_len, s.heads = heads, s.kv_heads = kv_heads;
  return s;
}
Plan plan_on(const AttentionDecode& s, const char* gpu, std::string_view engine = {}, std::string_view source = {}) {
  EXPECT_TRUE(s.check().ok());
  Context context;
  context.engine = Launcher::named(engine), context.kernel_source = KernelSource::named(source);
  return *plan(s, *format_from("bf16"), *find_gpu(gpu), context);
}
Count launches_of(const Plan& p, std::string_view name) {
  return std::count_if(p.launches.begin(), p.launches.end(), [&](const Launch& l) { return l.name == name; });
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
  // The task's own clocks beyond the card's prologue, eight blocks, 1024 keys of half a KiB, in the card's steps.
  const PipelineLatency card = pipeline_latency(*find_gpu("H100-SXM"));
  const double own = 2500 + 3800 + 4 * 5 - card.task_clocks * card.wave_share;
  EXPECT_NEAR(l.tasks[0].steps, (own + 8 * 1100 + 1024 * 0.5 * 35) / card.step_clocks, 1e-6);
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

// FlashAttention 2 splits keys, and copies queries and results, only where it makes rows of a group's heads.
TEST(AttentionDecode, Fa2SwapsGroups) {
  const Plan grouped = plan_on(shape_of(2, 4096, 8, 2), "L40S", "vllm", "vllm_flash_attn_fa2");
  EXPECT_GT(grouped.launches[0].split, 1);
  EXPECT_EQ(launches_of(grouped, "attention_copy"), 2);
  EXPECT_EQ(launches_of(plan_on(shape_of(1, 4096, 8, 2), "L40S"), "attention_copy"), 0);  // a view
  EXPECT_EQ(launches_of(plan_on(shape_of(2, 4096, 8, 1), "L40S"), "attention_copy"), 0);
  const Plan single = plan_on(shape_of(2, 4096, 8, 8), "L40S");
  EXPECT_EQ(single.launches[0].split, 1);
  EXPECT_EQ(single.launches.size(), 1u);
}

// TensorRT-LLM on H200, 132 SMs: 8 x 16 x 7 = 896 blocks of 128 tokens are work enough for XQA; seven blocks
// (round(sqrt(8 * 7)) = 7 as well) make 6.8 waves, below eight.
TEST(AttentionDecode, XqaByHand) {
  const Plan p = plan_on(shape_of(16, 1024, 32, 8), "H200-SXM", "trtllm", "torch_flow");
  const Launch& l = p.launches[0];
  EXPECT_EQ(l.tile.m, 16);
  EXPECT_EQ(l.split, 7);
  EXPECT_EQ(l.ctas, 16 * 8 * 7);
  EXPECT_EQ(launches_of(p, "attention_combine"), 0);
  // Twice the requests would make 13.6 waves: floor(7 * 8 / 13.6) = 4 parts.
  EXPECT_EQ(plan_on(shape_of(32, 1024, 32, 8), "H200-SXM", "trtllm", "torch_flow").launches[0].split, 4);
}

// Too little work, no group, or too large a one: a CTA for each query head, on the vector pipe.
TEST(AttentionDecode, MaskedAttentionWhereXqaIsNot) {
  for (const AttentionDecode& s : {shape_of(1, 128, 32, 8), shape_of(64, 1024, 8, 8), shape_of(64, 1024, 64, 1)}) {
    const Launch l = plan_on(s, "H200-SXM", "trtllm", "torch_flow").launches[0];
    EXPECT_EQ(l.tile.m, 1);
    EXPECT_EQ(in_ops(l.total().tensor), 0);
    EXPECT_GT(in_ops(l.required.tensor), 0);  // another implementation may still use the tensor pipe
  }
}

TEST(AttentionDecode, Fp8CacheOfXqa) {
  AttentionDecode s = shape_of(1, 8192, 32, 8);
  s.kv_dtype = CacheType::fp8;
  EXPECT_EQ(plan_on(s, "L40S", "trtllm", "torch_flow").launches[0].split, 1);
  EXPECT_GT(plan_on(s, "H200-SXM", "trtllm", "torch_flow").launches[0].split, 8);
}

TEST(AttentionDecode, SglangIgnoresAWindowOfThousands) {
  AttentionDecode s = shape_of(4, 65536, 32, 8);
  s.window = 8192;
  const auto read = [&](const char* gpu, const char* source) {
    return in_bytes(plan_on(s, gpu, "sglang", source).launches[0].total().l2_load);
  };
  EXPECT_GT(read("L40S", "flashinfer"), 4 * read("H100-SXM", "fa3"));
}

TEST(AttentionDecode, MissingLengthIsNamed) { EXPECT_EQ(shape_of(1, 0, 8, 8).check().error().field, "kv-len"); }

// Masked multi-head attention has a CTA for each query head: what a task waits for does not grow with the heads that
// share its keys, as it does where they are rows of one tile.
TEST(AttentionDecode, OnlyPackedHeadsLengthenATask) {
  const Gpu gpu = *find_gpu("A100-SXM-80GB");
  const auto shape = [&](Decoder decoder, Count query, Count key) {
    DecodeQuestion q;
    q.heads = {query, key, 128, 128};
    q.requests = 1, q.keys = 1000;
    return decoder_shape(decoder, q, gpu);
  };
  const auto clocks = [&](Decoder decoder, Count query, Count key) { return shape(decoder, query, key).task_clocks; };
  EXPECT_FALSE(shape(Decoder::mmha, 32, 4).packed);
  EXPECT_EQ(clocks(Decoder::mmha, 32, 4), clocks(Decoder::mmha, 32, 32));
  EXPECT_GT(clocks(Decoder::xqa, 32, 4), clocks(Decoder::xqa, 32, 32));
}

// Grids that an H200 ran (data/measurements/h200_attention_kernels.csv.gz): 64x4x1, 4x8x8, 1x4x1.
TEST(AttentionDecode, CudnnSplitsKeysByPowersOfTwo) {
  const auto splits = [](Count batch, Count kv_heads, Count keys) {
    AttentionDecode s;
    s.batch = batch, s.kv_len = keys, s.heads = 32, s.kv_heads = kv_heads, s.page_size = 0;
    Context context;
    context.engine = Launcher::pytorch, context.kernel_source = KernelSource::cudnn;
    return plan(s, *format_from("bf16"), *find_gpu("H200-SXM"), context)->launches[0].split;
  };
  EXPECT_EQ(splits(1, 4, 8192), 64);
  EXPECT_EQ(splits(8, 8, 8192), 4);
  EXPECT_EQ(splits(1, 4, 512), 1);
  EXPECT_EQ(splits(1, 8, 2048), 16);
  EXPECT_EQ(splits(64, 8, 8192), 1);
}

// Masked multi-head attention converts an fp8 cache at three times the cost on Ada; newer cards read an element as fast
// as one of 16 bits.
TEST(AttentionDecode, OnlyCardsBeforeHopperPayForAnFp8Cache) {
  AttentionDecode s = shape_of(64, 512, 8, 8);
  const auto clocks = [&](const char* gpu, CacheType cache) {
    s.kv_dtype = cache;
    const Launch l = plan_on(s, gpu, "trtllm", "torch_flow").launches[0];
    const PipelineLatency card = pipeline_latency(*find_gpu(gpu));
    return l.tasks[0].steps * card.step_clocks;
  };
  EXPECT_GT(clocks("L40S", CacheType::fp8), 2 * clocks("L40S", CacheType::same));
  const char* rtx = "RTX-PRO-6000-Blackwell-Server";
  EXPECT_LE(clocks(rtx, CacheType::fp8), clocks(rtx, CacheType::same));
}

// SGLang builds FlashAttention 3 for Ampere too, without what Hopper has to offer.
TEST(AttentionDecode, FlashAttention3BeforeHopperIsAnotherKernel) {
  const AttentionDecode s = shape_of(2, 2048, 4, 2);
  const Plan a100 = plan_on(s, "A100-SXM-80GB", "sglang", "flash_attention");
  const Plan h200 = plan_on(s, "H200-SXM", "sglang", "fa3");
  EXPECT_GT(a100.launches[0].joining_clocks, 5000);
  EXPECT_EQ(h200.launches[0].joining_clocks, 0);
  ASSERT_GT(a100.launches.size(), 1u);
  ASSERT_GT(h200.launches.size(), 1u);
  EXPECT_GT(a100.launches[1].tasks[0].steps, h200.launches[1].tasks[0].steps) << "joining the parts";
}

// The same kernel, whoever launches it: TensorRT-LLM's three helpers take as long.
TEST(AttentionDecode, GeneratedKernelsOfBlackwellStartSlowly) {
  const AttentionDecode s = shape_of(8, 64, 32, 8);
  const auto start = [&](const char* gpu, const char* engine, const char* source) {
    return plan_on(s, gpu, engine, source).launches[0].joining_clocks;
  };
  EXPECT_GT(start("GB200", "vllm", "vllm_flashinfer_trtllmdecode"), 5000);
  EXPECT_EQ(start("GB200", "sglang", "trtllm_mha"), start("GB200", "vllm", "vllm_flashinfer_trtllmdecode"));
  EXPECT_EQ(start("GB200", "trtllm", "torch_flow"), 0);
  EXPECT_EQ(start("GB200", "vllm", "vllm_flashinfer_fidecode"), 0);
  EXPECT_EQ(start("H200-SXM", "vllm", "vllm_flash_attn_fa3"), 0);
}

}  // namespace
}  // namespace tilecast
