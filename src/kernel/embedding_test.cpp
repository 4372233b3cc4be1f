#include "kernel/embedding.h"

#include <cmath>

#include "kernel/kernel.h"
#include "kernel/plan_bytes_testing.h"

namespace tilecast {
namespace {

TEST(Embedding, ForwardByHand) {
  // 8 known rows of 4096 bf16 elements: 512 words of 16 bytes, two CTAs of 256 threads a token.
  const Launch launch = on_h100(Embedding{.tokens = 8, .vocab = 1000, .cols = 4096, .distinct = 8}, "bf16").launches[0];
  EXPECT_EQ(launch.ctas, 16);
  EXPECT_EQ(launch.cta.threads, 256);
  EXPECT_DOUBLE_EQ(bytes_of(launch, "table"), 8 * 4096 * 2);
  EXPECT_DOUBLE_EQ(bytes_of(launch, "output"), 8 * 4096 * 2);
  EXPECT_DOUBLE_EQ(in_bytes(launch.total().l2_load), 8 * 4096 * 2 + 64);
}

TEST(Embedding, RowsOfOddBytesFillEightCtasPerSm) {
  const Launch launch = on_h100(Embedding{.tokens = 8192, .vocab = 128256, .cols = 4095}, "bf16").launches[0];
  EXPECT_EQ(launch.ctas, 8 * 132);
}

TEST(Embedding, ANarrowRowTakesANarrowCta) {
  // 768 bf16 elements are 96 words (h200_kernels.csv.gz: 32x1x1 CTAs of 96 threads for 32 tokens).
  const Launch launch = on_h100(Embedding{.tokens = 32, .vocab = 50304, .cols = 768}, "bf16").launches[0];
  EXPECT_EQ(launch.ctas, 32);
  EXPECT_EQ(launch.cta.threads, 96);
}

TEST(Embedding, UniformDrawRepeatsTokens) {
  EXPECT_NEAR(distinct_rows({.tokens = 1000, .vocab = 1000, .cols = 1}), 1000 * (1 - std::exp(-1)), 0.3);
  EXPECT_NEAR(distinct_rows({.tokens = 1, .vocab = 1000, .cols = 1}), 1, 1e-9);
  EXPECT_DOUBLE_EQ(distinct_rows({.tokens = 5, .vocab = 1, .cols = 1}), 1);
}

TEST(Embedding, UnknownTokensMakeOnlyOneRowCertain) {
  EXPECT_DOUBLE_EQ(compulsory(on_h100(Embedding{.tokens = 64, .vocab = 1000, .cols = 128}, "bf16")).read, 256 + 8 * 64);
}

TEST(Embedding, BackwardWritesTheWholeTable) {
  const Plan few = on_h100(Embedding{.tokens = 1024, .vocab = 32000, .cols = 4096, .backward = true}, "bf16");
  ASSERT_EQ(few.launches.size(), 2u);
  EXPECT_EQ(few.launches[1].ctas, 128);  // 4096 columns / 32
  EXPECT_DOUBLE_EQ(compulsory(few).written, 32000.0 * 4096 * 2);
  const Plan many = on_h100(Embedding{.tokens = 4096, .vocab = 32000, .cols = 4096, .backward = true}, "bf16");
  ASSERT_EQ(many.launches.size(), 3u);
  EXPECT_EQ(many.launches[1].name, "sort_tokens");
}

TEST(Embedding, MoreDistinctThanTokensIsRefused) {
  EXPECT_FALSE((Embedding{.tokens = 4, .vocab = 100, .cols = 8, .distinct = 5}.check()));
}

}  // namespace
}  // namespace tilecast
