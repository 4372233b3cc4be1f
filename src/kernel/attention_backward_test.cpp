#include "kernel/attention_backward.h"

#include <gtest/gtest.h>

#include "gpu/registry.h"
#include "kernel/kernel.h"
#include "kernel/pipeline.h"

namespace tilecast {
namespace {

AttentionBackward shape_of(Count batch, Count q_len, Count heads, Count kv_heads) {
  AttentionBackward s;
  s.forward.batch = batch, s.forward.q_len = q_len, s.forward.heads = heads, s.forward.kv_heads = kv_heads;
  return s;
}
Plan plan_on(const AttentionBackward& s, const char* gpu) { return *plan(s, *format_from("bf16"), *find_gpu(gpu), {}); }

// Steps of query rows that a task on an A100 stands for, by FlashAttention 2's constants: clocks of a tile (the first
// of its SM), of the products at 1.75 of their time, of a score.
double rows_steps(const TaskGroup& task, const Launch& l) {
  const double step = pipeline_latency(*find_gpu("A100-SXM-80GB")).step_clocks, scores = l.tile.m * l.tile.n;
  const double products = 2 * scores * 5 * l.tile.k / l.math.ops_per_clock;
  return (task.steps * step - 8500 - 4000) / (step + 1.75 * products + 0.076 * scores);
}

// FlashAttention 2 on A100: 64 rows x 128 keys, 144 KiB. Of 256 tokens the first block of keys is seen by all rows
// (four steps), the second by the last 128 (two).
TEST(AttentionBackward, Fa2CausalByHand) {
  const Plan p = plan_on(shape_of(1, 256, 1, 1), "A100-SXM-80GB");
  ASSERT_EQ(p.launches.size(), 3u);
  EXPECT_EQ(p.launches[0].ctas, 4);
  EXPECT_EQ(p.launches[2].ctas, 4);
  const Launch& l = p.launches[1];
  EXPECT_EQ(in_bytes(l.cta.shared_memory), 144 * 1024);
  EXPECT_EQ(l.ctas, 2);
  ASSERT_EQ(l.tasks.size(), 2u);
  EXPECT_NEAR(rows_steps(l.tasks[0], l), 4, 1e-9);
  EXPECT_NEAR(rows_steps(l.tasks[1], l), 2, 1e-9);
  EXPECT_EQ(l.math_share, 1);
  EXPECT_EQ(in_ops(l.tasks[0].each.tensor), 2.0 * 256 * 128 * 5 * 128);
  EXPECT_EQ(in_ops(l.tasks[1].each.tensor), 2.0 * 128 * 128 * 5 * 128);
  EXPECT_EQ(in_bytes(l.tasks[0].each.l2_load), 128 * 256 * 2 + 256 * (256 * 2 + 8));
  EXPECT_EQ(in_bytes(l.tasks[0].each.l2_store), 256 * 128 * 4 + 128 * 256 * 2);
  EXPECT_EQ(in_ops(l.required.tensor), 2.0 * 5 * 128 * 256 * 257 / 2);
}

// Five products instead of two.
TEST(AttentionBackward, TwoAndAHalfTimesTheForwardWork) {
  const AttentionBackward s = shape_of(2, 2048, 16, 16);
  const Plan backward = plan_on(s, "H100-SXM");
  const Plan forward = *plan(s.forward, *format_from("bf16"), *find_gpu("H100-SXM"), {});
  EXPECT_DOUBLE_EQ(in_ops(backward.launches[1].required.tensor), 2.5 * in_ops(forward.launches[0].required.tensor));
}

TEST(AttentionBackward, SharedKeyHeadsSumTheirGradients) {
  const Plan p = plan_on(shape_of(1, 1024, 32, 8), "A100-SXM-80GB");
  ASSERT_EQ(p.launches.size(), 5u);
  EXPECT_EQ(p.launches[3].name, "dk_sum");
  EXPECT_EQ(in_bytes(p.launches[3].total().l2_load), 1024.0 * 32 * 128 * 2);
  EXPECT_EQ(in_bytes(p.launches[3].total().l2_store), 1024.0 * 8 * 128 * 2);
}

TEST(AttentionBackward, WindowLimitsTheRows) {
  AttentionBackward s = shape_of(1, 4096, 1, 1);
  s.forward.window = 128;
  const Plan p = plan_on(s, "A100-SXM-80GB");
  // Keys 0-127 are seen by rows 0-254: four steps of 64; the last block only by its own 128 rows.
  const auto& tasks = p.launches[1].tasks;
  EXPECT_GT(tasks.front().steps, tasks.back().steps);
  EXPECT_EQ(in_ops(tasks.front().each.tensor), 2 * in_ops(tasks.back().each.tensor));
}

// 264 TFLOP/s of FlashAttention 2 and 480 to 590 of cuDNN are measured on an H200: older instructions against wgmma.
TEST(AttentionBackward, CudnnOnHopperBesideFlashAttention2) {
  const auto main = [](AttentionAlgorithm algorithm) {
    AttentionBackward s = shape_of(2, 8192, 32, 32);
    s.forward.algorithm = algorithm;
    return plan_on(s, "H200-SXM").launches[1];
  };
  const Launch old = main(AttentionAlgorithm::fa2), cudnn = main(AttentionAlgorithm::cudnn);
  EXPECT_NEAR(old.math_share, 0.63, 1e-9);
  EXPECT_EQ(cudnn.math_share, 1);
  EXPECT_EQ(cudnn.tile.m, 64);
  EXPECT_EQ(cudnn.tile.n, 128);
  EXPECT_TRUE(old.serial_steps && cudnn.serial_steps);
}

// The names of PyTorch's kernels tell the plan where the shape does not.
TEST(AttentionBackward, TheSourceNamesTheKernel) {
  Context context;
  context.engine = Launcher::pytorch, context.kernel_source = KernelSource::flash_attention_2;
  const Plan named = *plan(shape_of(1, 1024, 8, 8), *format_from("bf16"), *find_gpu("H200-SXM"), context);
  AttentionBackward said = shape_of(1, 1024, 8, 8);
  said.forward.algorithm = AttentionAlgorithm::fa2;
  EXPECT_EQ(named.launches[1].tile.n, plan_on(said, "H200-SXM").launches[1].tile.n);
  EXPECT_EQ(named.launches[1].math_share, plan_on(said, "H200-SXM").launches[1].math_share);
}

TEST(AttentionBackward, TasksCoverRequirementsOnEveryGpu) {
  for (const Gpu& gpu : built_in_gpus()) {
    const auto p = plan(shape_of(2, 777, 8, 4), *format_from("fp16"), gpu, {});
    ASSERT_TRUE(p.ok()) << gpu.name;
    const Launch& l = p->launches[1];
    EXPECT_GE(l.total().tensor, l.required.tensor);
    EXPECT_GE(l.total().vector, l.required.vector);
  }
}

TEST(AttentionBackward, HasTheFieldsOfPrefillButTheCache) {
  EXPECT_TRUE(shape_from("attention-backward", {{"q-len", "64"}, {"heads", "8"}, {"mask", "full"}}).ok());
  EXPECT_FALSE(shape_from("attention-backward", {{"q-len", "64"}, {"heads", "8"}, {"kv-dtype", "fp8"}}).ok());
}

}  // namespace
}  // namespace tilecast
