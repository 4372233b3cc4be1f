#include "kernel/triton_attention.h"

#include <gtest/gtest.h>

#include "gpu/registry.h"
#include "kernel/attention_prefill.h"
#include "kernel/format.h"
#include "kernel/pipeline.h"

namespace tilecast {
namespace {

AttentionPrefill encoder(Count batch, Count q_len, Count heads, Count dim) {
  AttentionPrefill s;
  s.batch = batch, s.q_len = q_len, s.heads = heads, s.kv_heads = heads, s.head_dim = dim;
  s.mask = AttentionMask::full;
  return s;
}
AttentionPrefill served(Count batch, Count q_len, Count heads, Count dim) {
  AttentionPrefill s = encoder(batch, q_len, heads, dim);
  s.mask = AttentionMask::causal;
  return s;
}

Launch launch_on(const AttentionPrefill& s, const char* gpu) {
  Context context;
  context.engine = Launcher::sglang, context.kernel_source = KernelSource::triton;
  return plan(s, *format_from("bf16"), *find_gpu(gpu), context)->launches[0];
}

const Operand& operand(const Launch& launch, std::string_view name) {
  for (const Operand& one : launch.operands)
    if (one.name == name) return one;
  ADD_FAILURE() << name;
  return *launch.operands.begin();
}

// context_attention_fwd has squares of 64 up to compute capability 8 and of 128 beyond; extend_attention_fwd has fewer
// rows where shared memory is small. Heads of 72 and 80 are computed as 128, by eight warps instead of four.
TEST(TritonAttention, BlocksGoByCardAndHeads) {
  const auto block = [](const Launch& l) { return std::array<Count, 4>{l.tile.m, l.tile.n, l.tile.k, l.cta.threads}; };
  using Block = std::array<Count, 4>;
  EXPECT_EQ(block(launch_on(encoder(4, 1024, 16, 64), "L40S")), (Block{64, 64, 64, 128}));
  EXPECT_EQ(block(launch_on(encoder(4, 1024, 16, 80), "L40S")), (Block{64, 64, 128, 256}));
  EXPECT_EQ(block(launch_on(encoder(4, 1024, 16, 72), "RTX-PRO-6000-Blackwell-Server")), (Block{128, 128, 128, 256}));
  EXPECT_EQ(block(launch_on(served(4, 1024, 16, 128), "L40S")), (Block{64, 128, 128, 256}));
  EXPECT_EQ(block(launch_on(served(4, 1024, 16, 128), "A100-SXM-80GB")), (Block{128, 128, 128, 256}));
  EXPECT_EQ(block(launch_on(served(4, 1024, 16, 256), "L40S")), (Block{64, 64, 256, 256}));
  for (const char* gpu : {"H100-SXM", "B200"}) {
    EXPECT_EQ(block(launch_on(encoder(4, 1024, 16, 64), gpu)), (Block{128, 128, 64, 128}));
    EXPECT_EQ(block(launch_on(served(4, 1024, 16, 128), gpu)), (Block{128, 64, 128, 256}));
    EXPECT_EQ(block(launch_on(served(4, 1024, 16, 256), gpu)), (Block{128, 64, 256, 256}));
  }
}

// Queries of 192 elements are multiplied as 128 and 64; values are padded to 256.
TEST(TritonAttention, HeadsOf192AreTwoParts) {
  const Launch l = launch_on(served(1, 64, 1, 192), "L40S");
  EXPECT_EQ(l.tile.k, 192);
  EXPECT_EQ(in_ops(l.tasks[0].each.tensor), 2.0 * 128 * 64 * (192 + 256));
}

// Eight warps of 16 rows each span 128: on a block of 64 they compute everything twice.
TEST(TritonAttention, WarpsBeyondTheRowsRepeatThem) {
  const Launch twice = launch_on(encoder(1, 64, 1, 80), "L40S"), once = launch_on(encoder(1, 64, 1, 64), "L40S");
  EXPECT_EQ(in_ops(twice.tasks[0].each.tensor), 2.0 * 128 * 64 * 256);
  EXPECT_EQ(in_ops(once.tasks[0].each.tensor), 2.0 * 64 * 64 * 128);
}

// 24 tiles of rows, 448 requests and heads on 142 x 3 places: every round of rows streams all keys. With 14 of them,
// 30 tiles of a head run side by side and share a reading.
TEST(TritonAttention, KeysAreReadAgainForEveryRoundOfRows) {
  const Launch many = launch_on(encoder(32, 1536, 14, 64), "L40S");
  EXPECT_EQ(operand(many, "k").passes, 24);
  EXPECT_EQ(operand(many, "v").reuse_distance, operand(many, "k").size + operand(many, "v").size);
  EXPECT_NEAR(operand(launch_on(encoder(1, 9216, 14, 64), "L40S"), "k").passes, 144 * 14 / 426.0, 1e-9);
  EXPECT_EQ(operand(launch_on(encoder(1, 64, 1, 64), "L40S"), "k").passes, 1);
}

// A row of 72 elements is no whole number of sixteens, one of 80 is.
TEST(TritonAttention, UnalignedHeadsWaitForTheirElements) {
  const auto steps = [](Count dim, const char* gpu) { return launch_on(encoder(1, 1024, 1, dim), gpu).tasks[0].steps; };
  for (const char* gpu : {"L40S", "RTX-PRO-6000-Blackwell-Server"}) {
    EXPECT_GT(steps(72, gpu), 1.2 * steps(80, gpu)) << gpu;
    EXPECT_EQ(steps(80, gpu), steps(96, gpu)) << gpu;
  }
}

// 64 tiles of 64 rows, keys in blocks of 128, a window of 128: the last tile sees two blocks and passes thirty, which
// cost as fifteen.
TEST(TritonAttention, BlocksBeforeAWindowAreNotFree) {
  AttentionPrefill s = served(1, 4096, 1, 64);
  s.window = 128;
  const Launch l = launch_on(s, "L40S");
  EXPECT_EQ(in_ops(l.tasks.back().each.tensor), 2.0 * 64 * 128 * 128 * (2 + 15));
  EXPECT_EQ(in_ops(l.tasks.front().each.tensor), 2.0 * 64 * 128 * 128);
}

// Heads of 512: blocks of 32 rows, which eight warps repeat four times where they multiply by mma.sync.
TEST(TritonAttention, FewRowsAreNotRepeatedBeyondMmaSync) {
  const auto tensor = [](const char* gpu) {
    return in_ops(launch_on(served(1, 32, 1, 512), gpu).tasks[0].each.tensor);
  };
  EXPECT_EQ(tensor("RTX-PRO-6000-Blackwell-Server"), 2.0 * 128 * 32 * 1024);
  EXPECT_EQ(tensor("H100-SXM"), 2.0 * 32 * 64 * 1024);
}

TEST(TritonAttention, OnlyWhereTheSourceSaysSo) {
  Context context;
  context.engine = Launcher::sglang, context.kernel_source = KernelSource::triton;
  for (const char* gpu : {"L40S", "H100-SXM", "B200"}) EXPECT_TRUE(is_triton_attention(context, *find_gpu(gpu))) << gpu;
  EXPECT_FALSE(is_triton_attention(context, *find_gpu("P100-PCIe")));
  EXPECT_FALSE(is_triton_attention(context, *find_gpu("MI300X")));
  EXPECT_FALSE(is_unified_attention(context, *find_gpu("L40S")));
  context.kernel_source = KernelSource::flashinfer;
  EXPECT_FALSE(is_triton_attention(context, *find_gpu("L40S")));
}

// vLLM's kernel: 16 rows of a group of 8 heads are 2 queries, so 17 requests of 3 have 34 tiles for each of 4 key
// heads. Tiles of keys are 32, and those before a window are skipped.
TEST(TritonAttention, VllmsKernelPacksTwoQueriesOfEightHeads) {
  Context context;
  context.engine = Launcher::vllm, context.kernel_source = KernelSource::named("vllm_triton_attn");
  AttentionPrefill s = served(17, 3, 32, 192);
  s.kv_heads = 4;
  for (const char* gpu : {"L40S", "B200"}) {
    const Launch l = plan(s, *format_from("bf16"), *find_gpu(gpu), context)->launches[0];
    Count tasks = 0;
    for (const TaskGroup& group : l.tasks) tasks += group.count;
    EXPECT_EQ(tasks, 17 * 2 * 4) << gpu;
    EXPECT_EQ(l.tile.m, 16) << gpu;
    EXPECT_EQ(l.tile.n, 32) << gpu;
  }
  s = served(1, 4096, 8, 192);
  s.kv_heads = 1, s.window = 128;
  const Launch l = plan(s, *format_from("bf16"), *find_gpu("L40S"), context)->launches[0];
  EXPECT_LE(in_ops(l.tasks.back().each.tensor), 2.0 * 16 * 32 * 512 * 5);
}

// FlashAttention 3 of Ampere packs a group of 16: 8 queries fill a tile of 128 rows, where FlashAttention 2 has a tile
// for every head.
TEST(FlashAttentionOfAmpere, PacksGroups) {
  AttentionPrefill s = served(64, 16, 64, 128);
  s.kv_heads = 4;
  const auto tasks = [&](std::string_view engine, std::string_view source) {
    Context context;
    context.engine = Launcher::named(engine), context.kernel_source = KernelSource::named(source);
    const Launch l = plan(s, *format_from("bf16"), *find_gpu("A100-SXM-80GB"), context)->launches[0];
    Count all = 0;
    for (const TaskGroup& group : l.tasks) all += group.count;
    return all;
  };
  EXPECT_EQ(tasks("sglang", "flash_attention"), 64 * 4 * 2);
  EXPECT_EQ(tasks("vllm", "vllm_flash_attn"), 64 * 64);
}

}  // namespace
}  // namespace tilecast
