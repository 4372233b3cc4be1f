// Tuned times against hand-computed ones.
#include "estimate/tuning.h"

#include <gtest/gtest.h>

#include <cmath>

#include "estimate/forecast.h"
#include "estimate/learned.h"
#include "gpu/registry.h"
#include "kernel/gemm.h"

namespace tilecast {
namespace {

// 3-4-5: with an overlap exponent of 2 the main loop's 3 us and DRAM's 4 us join to 5.
TEST(Tuning, JoinsTheTermsOfAMainLoop) {
  Terms terms;
  terms.math = 2.5;
  terms.l2 = 1;
  terms.waiting = 2;
  terms.prologue = 0.5;
  terms.dram = 4;
  terms.floor = 1;
  terms.helpers = 0.25;
  terms.overlap = 2;
  EXPECT_NEAR(tuned_time(terms, Tuning{}, 1.5), 5 + 1 + 0.25, 1e-6);

  Tuning tuning;
  tuning.log_factors[Tuning::l2] = std::log(5.0f);        // 5 us: now longer than math, 5.5 with the prologue
  tuning.log_factors[Tuning::dram] = std::log(0.0f + 3);  // 12 us
  tuning.log_factors[Tuning::helpers] = std::log(4.0f);   // 1 us
  tuning.log_factors[Tuning::floor] = std::log(2.0f);     // 2 us
  tuning.extra_floor_us = 3;                              // 4.5 us at this card's clock
  EXPECT_NEAR(tuned_time(terms, tuning, 1.5), std::hypot(5.5, 12.0) + 1 + 2 + 4.5, 1e-4);

  tuning.log_factors[Tuning::overlap] = -20;  // exponent 1: nothing overlaps
  EXPECT_NEAR(tuned_time(terms, tuning, 1.5), 5.5 + 12 + 1 + 2 + 4.5, 1e-3);
}

TEST(Tuning, StreamsQueueBehindTheirFirstRoundTrip) {
  Terms terms;
  terms.looped = false;
  terms.overlap = 2;
  terms.dram = 4;
  terms.waiting = 3;
  EXPECT_NEAR(tuned_time(terms, Tuning{}, 1), 5, 1e-6);
}

// The two joins the analytic and the tuned forecast share.
TEST(JoinParts, LoopAddsItsPrologueAndOverlapsDram) {
  const LaunchParts parts{.math = 2.5, .l2 = 1, .dram = 4, .waiting = 2, .prologue = 0.5};
  EXPECT_DOUBLE_EQ(join_parts(parts, true, 2), 5);  // the longest of math, L2 and waiting, then 3-4-5
  EXPECT_DOUBLE_EQ(join_parts(parts, true, 1), 7);
}

TEST(JoinParts, StreamOverlapsMemoryWithMathAndQueuesBehindTheFirstRoundTrip) {
  const LaunchParts parts{.math = 2, .l2 = 2, .dram = 1, .waiting = 3, .prologue = 9};
  EXPECT_DOUBLE_EQ(join_parts(parts, false, 2), std::hypot(2 * std::pow(2, 0.25), 3.0));
}

TEST(JoinParts, ExponentialsOverlapMoreOutsideAttention) {
  ResourceTimes times{};
  times[static_cast<std::size_t>(Resource::tensor)] = seconds(4);
  times[static_cast<std::size_t>(Resource::vector)] = seconds(1);
  times[static_cast<std::size_t>(Resource::xu)] = seconds(3);
  EXPECT_DOUBLE_EQ(math_time(times, Character::attention), 5);
  EXPECT_DOUBLE_EQ(math_time(times, Character::product), std::pow(256.0 + 81, 0.25));
}

// Waves that read shared memory and multiply in turn: the times of a product's pipes add up.
TEST(JoinParts, PipesInTurnAddUp) {
  ResourceTimes times{};
  times[static_cast<std::size_t>(Resource::tensor)] = seconds(4);
  times[static_cast<std::size_t>(Resource::vector)] = seconds(1);
  times[static_cast<std::size_t>(Resource::shared)] = seconds(3);
  EXPECT_DOUBLE_EQ(math_time(times, Character::product), 4);
  const Overlap overlap = overlap_of(*find_gpu("MI300X"));
  EXPECT_DOUBLE_EQ(math_time(times, Character::product, overlap), 8);
  EXPECT_DOUBLE_EQ(math_time(times, Character::attention, overlap), 4);
}

// Untuned terms of one launch give the analytic forecast back.
TEST(Tuning, UntunedIsTheAnalyticForecast) {
  const Context context;
  for (const char* name : {"A100-SXM-80GB", "H100-SXM", "B200", "MI300X"}) {
    const Gpu gpu = *find_gpu(name);
    for (const Kernel& kernel :
         {Kernel{Gemm{4096, 8192, 2048}, *format_from("bf16")},
          Kernel{*shape_from("softmax", {{"rows", "4096"}, {"cols", "2048"}}), *format_from("bf16")}}) {
      const auto planned = plan(kernel, gpu, context);
      ASSERT_TRUE(planned);
      if (planned->launches.size() != 1) continue;
      const Estimate e = estimate(*planned, gpu, context, Method::analytic);
      if (e.launches[0].latency - e.launches[0].floor <= e.bound) continue;  // held up by its bound
      EXPECT_NEAR(tuned_time(terms_of(*planned, e, overlap_of(gpu)), Tuning{}, 1) / in_microseconds(e.latency), 1, 1e-4)
          << name << " " << family_of(kernel.shape);
    }
  }
}

}  // namespace
}  // namespace tilecast
