#include "kernel/sampling.h"

#include "kernel/kernel.h"
#include "kernel/plan_bytes_testing.h"

namespace tilecast {
namespace {

constexpr double kLogits = 4.0 * 64 * 128256;

TEST(Sampling, GreedyReadsTheLogitsOnce) {
  const Plan plan = on_h100(Sampling{64, 128256}, "fp32");
  ASSERT_EQ(plan.launches.size(), 1u);
  EXPECT_DOUBLE_EQ(compulsory(plan).read, kLogits);
  EXPECT_DOUBLE_EQ(compulsory(plan).written, 8 * 64);
  EXPECT_EQ(plan.launches[0].ctas, 64);  // 251 logits a thread: one CTA a row
}

TEST(Sampling, GreedySharesARowAmongCtasFrom256LogitsAThreadOn) {
  EXPECT_EQ(on_h100(Sampling{1, 128256}, "fp32").launches[0].ctas, 1);
  EXPECT_EQ(on_h100(Sampling{1, 151936}, "fp32").launches[0].ctas, 19);       // 297 a thread, at least 16 of them a CTA
  EXPECT_EQ(on_h100(Sampling{64, 151936}, "fp32").launches[0].ctas, 64 * 9);  // 4 * 132 CTAs wanted over 64 rows
}

TEST(Sampling, SortFreeIsSoftmaxAndOneKernel) {
  const Plan plain = on_h100(Sampling{64, 128256, SamplingMethod::sampling}, "fp32");
  ASSERT_EQ(plain.launches.size(), 2u);
  EXPECT_EQ(plain.launches[1].ctas, 64);
  EXPECT_EQ(plain.launches[1].cta.threads, 1024);
  EXPECT_DOUBLE_EQ(in_bytes(plain.launches[1].total().l2_load), kLogits);
  const Plan nucleus = on_h100(Sampling{64, 128256, SamplingMethod::sampling, false, true}, "fp32");
  EXPECT_DOUBLE_EQ(in_bytes(nucleus.launches[1].total().l2_load), 4 * kLogits);
}

TEST(Sampling, EveryMethodMustReadTheLogits) {
  for (const SamplingMethod method : {SamplingMethod::greedy, SamplingMethod::sampling, SamplingMethod::sort}) {
    const bool filtered = method != SamplingMethod::greedy;
    EXPECT_DOUBLE_EQ(compulsory(on_h100(Sampling{64, 128256, method, false, filtered}, "fp32")).read, kLogits);
  }
}

TEST(Sampling, SortingCostsTheMostKernels) {
  EXPECT_EQ(on_h100(Sampling{64, 128256, SamplingMethod::sort}, "fp32").launches.size(), 4u);
  const Plan full = on_h100(Sampling{64, 128256, SamplingMethod::sort, true, true}, "fp32");
  ASSERT_EQ(full.launches.size(), 10u);
  EXPECT_DOUBLE_EQ(in_bytes(full.launches[0].total().l2_store), 4 * 3 * kLogits);  // four passes of 12 bytes an item
}

TEST(Sampling, GreedyHasNoFilters) { EXPECT_FALSE((Sampling{64, 128256, SamplingMethod::greedy, true}.check())); }

}  // namespace
}  // namespace tilecast
