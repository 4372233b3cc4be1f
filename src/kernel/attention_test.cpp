#include "kernel/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "gpu/registry.h"
#include "kernel/attention_sources.h"
#include "kernel/flash_tile.h"

namespace tilecast {
namespace {

TEST(Attention, PairsByHand) {
  // Four queries: 1 + 2 + 3 + 4 keys.
  EXPECT_EQ(visible_pairs({4, 4, 1}, AttentionMask::causal, 0), 10);
  EXPECT_EQ(visible_pairs({4, 4, 1}, AttentionMask::full, 0), 16);
  // A prefix of six: 7 + 8 + 9 + 10.
  EXPECT_EQ(visible_pairs({4, 10, 1}, AttentionMask::causal, 0), 34);
  // A window of two: 1 + 2 + 2 + 2.
  EXPECT_EQ(visible_pairs({4, 4, 1}, AttentionMask::causal, 2), 7);
  EXPECT_EQ(visible_pairs({4, 10, 1}, AttentionMask::causal, 8), 7 + 8 + 8 + 8);
  EXPECT_EQ(touched_keys({4, 10, 1}, 3), 6);  // queries 6 to 9 look back to key 4
  EXPECT_EQ(touched_keys({4, 10, 1}, 0), 10);
}

TEST(Attention, PairsAgreeWithCountingRows) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 500; ++trial) {
    const Count q = 1 + random() % 60, kv = q + random() % 60, window = random() % 70;
    double pairs = 0;
    for (Count row = 0; row < q; ++row) pairs += static_cast<double>(visible_keys({q, kv, 1}, row, window));
    EXPECT_EQ(visible_pairs({q, kv, 1}, AttentionMask::causal, window), pairs) << q << ' ' << kv << ' ' << window;
  }
}

TEST(Attention, EqualLengthsAreGathered) {
  const std::vector<Lengths> lengths = gather_lengths(1, 0, 0, {5, 9, 5}, {});
  ASSERT_EQ(lengths.size(), 2u);
  EXPECT_EQ(lengths[0].q, 9);
  EXPECT_EQ(lengths[1].requests, 2);
  EXPECT_EQ(lengths[1].kv, 5);
}

TEST(Attention, AlgorithmByGeneration) {
  const auto algorithm = [](const char* gpu, AttentionAlgorithm wanted = AttentionAlgorithm::automatic) {
    return resolve_algorithm(wanted, *find_gpu(gpu));
  };
  EXPECT_EQ(*algorithm("H200-SXM"), AttentionAlgorithm::fa3);
  EXPECT_EQ(*algorithm("A100-SXM-80GB"), AttentionAlgorithm::fa2);
  EXPECT_EQ(*algorithm("RTX 5090"), AttentionAlgorithm::fa2);  // sm_120 kept mma.sync
  EXPECT_EQ(*algorithm("B200"), AttentionAlgorithm::blackwell);
  EXPECT_FALSE(algorithm("A100-SXM-80GB", AttentionAlgorithm::fa3));
  EXPECT_EQ(*algorithm("H100-SXM", AttentionAlgorithm::fa2), AttentionAlgorithm::fa2);
}

TileQuestion question(AttentionAlgorithm algorithm, Count dim, bool causal, Count q_len = 4096) {
  return {algorithm, {32, 8, dim, dim}, {}, q_len, causal, false, false, 0};
}

TEST(FlashTile, PublishedTables) {
  const Gpu a100 = *find_gpu("A100-SXM-80GB"), l40s = *find_gpu("L40S"), h100 = *find_gpu("H100-SXM");
  struct Case {
    const Gpu& gpu;
    AttentionAlgorithm algorithm;
    Count dim;
    bool causal;
    int m, n, threads;
    double shared_kib;
  };
  using enum AttentionAlgorithm;
  for (const Case& c : {Case{a100, fa2, 128, true, 128, 64, 128, 64}, Case{l40s, fa2, 128, true, 64, 64, 128, 48},
                        Case{l40s, fa2, 128, false, 128, 32, 128, 48}, Case{a100, fa2, 64, true, 128, 128, 128, 48},
                        Case{a100, fa2, 256, true, 128, 64, 256, 128}, Case{l40s, fa2, 256, true, 64, 64, 128, 96},
                        Case{a100, fa2, 80, false, 128, 64, 128, 48}, Case{h100, fa3, 128, true, 128, 128, 384, 160},
                        Case{h100, fa3, 128, false, 128, 176, 384, 208}, Case{h100, fa3, 64, true, 192, 128, 512, 88},
                        Case{h100, fa3, 256, true, 128, 80, 384, 224}}) {
    const FlashTile tile = forward_tile(question(c.algorithm, c.dim, c.causal), c.gpu);
    EXPECT_EQ(tile.m, c.m) << c.gpu.name << c.dim;
    EXPECT_EQ(tile.n, c.n) << c.gpu.name << c.dim;
    EXPECT_EQ(tile.cta.threads, c.threads);
    EXPECT_DOUBLE_EQ(in_bytes(tile.cta.shared_memory) / 1024, c.shared_kib) << c.gpu.name << c.dim;
    EXPECT_TRUE(tile.known);
    EXPECT_FALSE(tile.packed);
  }
}

TEST(FlashTile, FewRowsPackTheGroup) {
  const FlashTile tile = forward_tile(question(AttentionAlgorithm::fa3, 128, false, 1), *find_gpu("H100-SXM"));
  EXPECT_TRUE(tile.packed);
  EXPECT_EQ(tile.m, 64);
}

// The example in both libraries' sources: 48 tiles on 108 places want two splits, not three.
TEST(FlashTile, SplitsByWaveEfficiency) {
  Gpu gpu = *find_gpu("A100-SXM-80GB");
  EXPECT_EQ(fa3_splits(48, 64, gpu), 2);
  EXPECT_EQ(fa3_splits(87, 64, gpu), 1);  // nearly one wave
  EXPECT_EQ(fa3_splits(1, 4, gpu), 1);    // too few blocks
  gpu.sms = 54;
  EXPECT_EQ(fa2_splits(48, 64, gpu), 2);  // called with twice the SMs
}

// Three products of tf32 for one of fp32, where tensor pipes take it and the kernel is xFormers'.
TEST(Attention, EfficientKernelsMultiplyFullPrecisionInParts) {
  const auto math = [](AttentionAlgorithm algorithm, const char* dtype, const char* gpu) {
    return *attention_math(*format_from(dtype), algorithm, *find_gpu(gpu));
  };
  const MathPath a100 = math(AttentionAlgorithm::efficient, "fp32", "A100-SXM-80GB");
  EXPECT_EQ(a100.pipe, Pipe::tensor);
  EXPECT_DOUBLE_EQ(3 * a100.ops_per_clock, math(AttentionAlgorithm::efficient, "tf32", "A100-SXM-80GB").ops_per_clock);
  EXPECT_EQ(math(AttentionAlgorithm::fa2, "fp32", "A100-SXM-80GB").pipe, Pipe::vector);
  EXPECT_EQ(math(AttentionAlgorithm::efficient, "fp32", "V100-SXM").pipe, Pipe::vector);
  EXPECT_EQ(math(AttentionAlgorithm::efficient, "bf16", "A100-SXM-80GB").ops_per_clock,
            math_path(*format_from("bf16"), *find_gpu("A100-SXM-80GB"))->ops_per_clock);
}

TEST(FlashTile, NeverExceedsSharedMemory) {
  for (const Gpu& gpu : built_in_gpus())
    for (const Count dim : {32, 64, 80, 96, 128, 192, 256, 512, 576})
      for (const bool causal : {true, false})
        for (const Count q_len : {1, 17, 4096}) {
          const auto algorithm = resolve_algorithm(AttentionAlgorithm::automatic, gpu);
          for (const FlashTile& tile : {forward_tile(question(*algorithm, dim, causal, q_len), gpu),
                                        fa2_split_tile(question(*algorithm, dim, causal, q_len), gpu)}) {
            EXPECT_LE(tile.cta.shared_memory, gpu.shared_memory.per_cta) << gpu.name << dim;
            EXPECT_GE(tile.m, 8);
            EXPECT_GE(tile.n, 16);
          }
        }
}

TEST(AttentionSources, NamesOfOtherCardsAreRefused) {
  const auto line = [](const char* source, const char* gpu) {
    const Status s = check_source(KernelSource::named(source), *find_gpu(gpu));
    return s ? std::string("fine") : s.error().line();
  };
  EXPECT_THAT(line("flash_attention_4", "MI300X"),
              testing::StartsWith("kernel-source: flash_attention_4 is for NVIDIA"));
  for (const char* nvidias : {"trtllm_mha", "flash_attention_3", "cudnn", "flashinfer", "torch_flow"})
    EXPECT_THAT(line(nvidias, "MI300X"), testing::HasSubstr("NVIDIA")) << nvidias;
  for (const char* amds : {"ck_flash_attention", "aiter_paged_attention", "rocm_paged_attention"})
    EXPECT_THAT(line(amds, "H100-SXM"), testing::HasSubstr("AMD")) << amds;
  EXPECT_THAT(line("flash_attention_3", "A100-SXM-80GB"), testing::HasSubstr("Hopper"));
  EXPECT_THAT(line("flash_attention_2", "T4"), testing::HasSubstr("later"));
  for (const char* fine : {"flash_attention_2", "triton", "brand_new", "ck_flash_attention"})
    EXPECT_EQ(line(fine, "MI300X"), "fine") << fine;
  EXPECT_EQ(line("cudnn", "A100-SXM-80GB"), "fine");
}

TEST(AttentionSources, NoCardGetsAnAlgorithmItHasNoKernelOf) {
  EXPECT_EQ(*resolve_algorithm(AttentionAlgorithm::efficient, *find_gpu("T4")), AttentionAlgorithm::efficient);
  for (const AttentionAlgorithm newer : {AttentionAlgorithm::fa2, AttentionAlgorithm::cudnn}) {
    EXPECT_FALSE(resolve_algorithm(newer, *find_gpu("V100-SXM")).ok());
    EXPECT_TRUE(resolve_algorithm(newer, *find_gpu("A100-SXM-80GB")).ok());
  }
  EXPECT_FALSE(resolve_algorithm(AttentionAlgorithm::ck, *find_gpu("H100-SXM")).ok());
  EXPECT_TRUE(resolve_algorithm(AttentionAlgorithm::aiter, *find_gpu("MI300X")).ok());
}

}  // namespace
}  // namespace tilecast
