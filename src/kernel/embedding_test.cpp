#include "kernel/embedding.h"

#include <algorithm>
#include <cmath>

#include "kernel/kernel.h"
#include "kernel/plan_bytes_testing.h"

namespace tilecast {
namespace {

TEST(Embedding, ForwardByHand) {
  // 32 known rows of 4096 bf16 elements: 512 words of 16 bytes, two CTAs of 256 threads a token.
  const Launch launch =
      on_h100(Embedding{.tokens = 32, .vocab = 1000, .cols = 4096, .distinct = 32}, "bf16").launches[0];
  EXPECT_EQ(launch.ctas, 64);
  EXPECT_EQ(launch.cta.threads, 256);
  EXPECT_DOUBLE_EQ(bytes_of(launch, "table"), 32 * 4096 * 2);
  EXPECT_DOUBLE_EQ(bytes_of(launch, "output"), 32 * 4096 * 2);
  EXPECT_DOUBLE_EQ(in_bytes(launch.total().l2_load), 32 * 4096 * 2 + 256);
}

TEST(Embedding, FewTokensAreLookedUpOneAfterAnother) {
  // 8192 columns in CTAs of 128 (h200_products_kernels.csv.gz: 64x1x1 for 1 to 16 tokens), each of which walks them
  // all.
  const auto launch = [](Count tokens) {
    return on_h100(Embedding{.tokens = tokens, .vocab = 32000, .cols = 8192}, "bf16").launches[0];
  };
  EXPECT_EQ(launch(1).ctas, 64);
  EXPECT_EQ(launch(16).ctas, 64);
  EXPECT_DOUBLE_EQ(launch(16).tasks[0].steps, 16 * launch(1).tasks[0].steps);
  EXPECT_EQ(launch(17).tasks[0].steps, 1);  // a CTA of its own for each 2048 columns of each token
}

TEST(Embedding, RowsOfOddBytesAreGatheredElementByElement) {
  // 128 threads of eight elements (h200_products_kernels.csv.gz: 45360x1x1 for 13073 tokens of 3553 columns).
  const Launch launch = on_h100(Embedding{.tokens = 13073, .vocab = 128256, .cols = 3553}, "fp16").launches[0];
  EXPECT_EQ(launch.ctas, 45360);
  EXPECT_EQ(launch.tasks[0].steps, 8);
  EXPECT_EQ(on_h100(Embedding{.tokens = 20, .vocab = 100, .cols = 14}, "fp32").launches[0].tasks[0].steps, 3);
}

TEST(Embedding, OlderReleasesFillEightCtasPerSm) {
  Context context;
  context.torch = TorchRelease::v2_1;
  const Embedding shape{.tokens = 8192, .vocab = 128256, .cols = 4096};
  EXPECT_EQ(only_launch(shape, "bf16", "H100-SXM", context).ctas, 8 * 132);
  EXPECT_EQ(only_launch(shape, "bf16", "H100-SXM").ctas, 8192 * 2);
  EXPECT_EQ(only_launch(shape, "bf16", "A100-SXM-80GB").ctas, 8192 * 2);  // whatever the card
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
  // Eight passes of a radix sort, each behind a cleared counter, and ten small kernels around them.
  EXPECT_EQ(
      std::count_if(many.launches.begin(), many.launches.end(), [](const Launch& l) { return l.name == "sort_pass"; }),
      8);
  EXPECT_EQ(many.launches.size(), 10u + 2 * 8 + 2);
}

TEST(Embedding, MoreDistinctThanTokensIsRefused) {
  EXPECT_FALSE((Embedding{.tokens = 4, .vocab = 100, .cols = 8, .distinct = 5}.check()));
}

}  // namespace
}  // namespace tilecast
