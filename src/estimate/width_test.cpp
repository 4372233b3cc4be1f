#include "estimate/width.h"

#include <gtest/gtest.h>

#include <cmath>

#include "constants/intervals.h"
#include "estimate/price.h"
#include "estimate/shipped_weights.h"
#include "gpu/registry.h"
#include "kernel/attention_decode.h"
#include "kernel/gemm.h"

namespace tilecast {
namespace {

constexpr std::array kLoops = {MainLoop::product, MainLoop::attention, MainLoop::stream};
constexpr std::array kDoubts = {Doubt::none, Doubt::protocol, Doubt::card, Doubt::architecture, Doubt::vendor};

TEST(Width, OfAnIntervalAndBack) {
  const Width w = width_of({milliseconds(5), milliseconds(30)}, milliseconds(10));
  EXPECT_NEAR(w.down, std::log(2.0), 1e-12);
  EXPECT_NEAR(w.up, std::log(3.0), 1e-12);
  const Interval back = around(milliseconds(10), w);
  EXPECT_NEAR(back.low / milliseconds(5), 1, 1e-12);
  EXPECT_NEAR(back.high / milliseconds(30), 1, 1e-12);
  EXPECT_EQ(width_of({seconds(0), seconds(0)}, seconds(0)).up, 0) << "nothing to be sure of";
}

TEST(Width, CausesApartJoinBySquares) {
  const Width w = joined({0.3, 0.6}, {0.4, 0.8});
  EXPECT_NEAR(w.down, 0.5, 1e-12);
  EXPECT_NEAR(w.up, 1.0, 1e-12);
}

TEST(Width, WhatIsFartherIsNeverNarrower) {
  for (const MainLoop loop : kLoops)
    for (const bool known : {true, false}) {
      Width nearer = {constants::kNoiseWidth, constants::kNoiseWidth};
      for (const Doubt doubt : kDoubts) {
        const Width w = shared_width(loop, doubt, known);
        EXPECT_GE(w.down, nearer.down) << name_of(loop) << " " << name_of(doubt);
        EXPECT_GE(w.up, nearer.up) << name_of(loop) << " " << name_of(doubt);
        const Width same = shared_width(loop, doubt, true);
        EXPECT_GE(w.down, same.down) << "an unknown kernel";
        EXPECT_GE(w.up, same.up) << "an unknown kernel";
        nearer = w;
      }
    }
}

TEST(Width, EveryFamilyHasALoop) {
  EXPECT_EQ(loop_of("gemm"), MainLoop::product);
  EXPECT_EQ(loop_of("moe"), MainLoop::product);
  EXPECT_EQ(loop_of("attention_decode"), MainLoop::attention);
  EXPECT_EQ(loop_of("mla_prefill"), MainLoop::attention);
  EXPECT_EQ(loop_of("rmsnorm"), MainLoop::stream);
}

// Either end of a kernel's interval is as far out as the noise of measuring it, or at the bound.
TEST(Width, NoKernelIsSurerThanItsMeasurements) {
  for (const char* card : {"H100-SXM", "H200-SXM", "L40S", "MI300X"}) {
    const Gpu* gpu = built_in_gpu(card);
    ASSERT_TRUE(gpu);
    for (const Count m : {1, 128, 4096}) {
      const auto priced =
          price({Gemm{m, 4096, 4096}, *format_from("bf16")}, *gpu, {}, Method::tilecast, &shipped_models());
      ASSERT_TRUE(priced);
      const Estimate& e = priced->estimate;
      EXPECT_GE(e.interval.high / e.latency, std::exp(double{constants::kNoiseWidth}) * 0.999) << card << " m " << m;
      EXPECT_TRUE(e.latency / e.interval.low >= std::exp(double{constants::kNoiseWidth}) * 0.999 ||
                  e.interval.low <= e.assumed_bound * 1.001)
          << card << " m " << m;
    }
  }
}

// What a model's rows leave over is the interval of a known kernel, of a card that was measured or of one that
// trainings left out: noise is part of it, and nothing is added that it has already.
TEST(Width, AKnownKernelIsAsSureAsItsRows) {
  for (const MainLoop loop : kLoops)
    for (const Doubt doubt : {Doubt::none, Doubt::card, Doubt::architecture}) {
      const Width w = kernel_width({0.01, 0.2}, {loop, doubt, true, false});
      EXPECT_EQ(w.down, constants::kNoiseWidth) << name_of(loop) << " " << name_of(doubt);
      EXPECT_EQ(w.up, 0.2) << name_of(loop) << " " << name_of(doubt);
    }
}

// What no training without a card shows comes on top: somebody else's timing, a kernel that nobody timed, a vendor.
TEST(Width, WhatNoTrainingShowsIsAdded) {
  const Width own{0.01, 0.2};
  for (const MainLoop loop : kLoops) {
    Width nearer = kernel_width(own, {loop, Doubt::none, true, false});
    for (const Doubt doubt : {Doubt::protocol, Doubt::card, Doubt::architecture, Doubt::vendor}) {
      const Width known = kernel_width(own, {loop, doubt, true, true});
      const Width unknown = kernel_width(own, {loop, doubt, false, true});
      EXPECT_GE(known.up, nearer.up) << name_of(loop) << " " << name_of(doubt);
      EXPECT_GE(known.down, nearer.down) << name_of(loop) << " " << name_of(doubt);
      const Width alone = kernel_width(own, {loop, doubt, true, false});
      EXPECT_GE(unknown.up, alone.up) << name_of(loop) << " " << name_of(doubt);
      EXPECT_GE(unknown.down, alone.down) << name_of(loop) << " " << name_of(doubt);
      nearer = known;
    }
  }
}

Width priced_width(const Kernel& kernel, const char* card, std::string_view engine = "") {
  const Gpu* gpu = built_in_gpu(card);
  if (!gpu) return {};
  Context context;
  context.engine = Launcher::named(engine);
  const auto priced = price(kernel, *gpu, context, Method::tilecast, &shipped_models());
  return priced ? width_of(priced->estimate.interval, priced->estimate.latency) : Width{};
}

// What nobody measured is less sure than what somebody did: a vendor without a row of the family, an architecture, a
// format.
TEST(Width, WhatWasNeverSeenIsLessSure) {
  AttentionDecode shape;
  shape.batch = 16, shape.kv_len = 4096, shape.heads = 32, shape.kv_heads = 8;
  const Kernel decode{shape, *format_from("bf16")};
  const double seen = priced_width(decode, "H100-SXM").up;
  ASSERT_GT(seen, 0);
  EXPECT_GT(priced_width(decode, "MI300X").up, seen + constants::kStrangerSpread / 2) << "a vendor";
  const Kernel half{Gemm{2048, 4096, 4096}, *format_from("fp16")};
  // On the whole: on which side of a forecast strangers lie is the rows' to say.
  const Width stranger = priced_width(half, "RTX-2080-Ti"), known = priced_width(half, "H100-SXM");
  EXPECT_GT(stranger.down + stranger.up, known.down + known.up) << "an architecture";
  const Kernel product{Gemm{2048, 4096, 4096}, *format_from("bf16")};
  int never = 0;
  for (const Format& format : formats()) {
    if (shipped_models().find(Kernel{product.shape, format})) continue;
    const Width w = priced_width({product.shape, format}, "H100-SXM");
    if (!(w.up > 0)) continue;  // the card cannot run it
    ++never;
    EXPECT_GT(w.up, priced_width(product, "H100-SXM").up) << "a format: " << format.name;
  }
  EXPECT_GT(never, 0);
}

// An engine whose kernels nobody measured, and a vendor nobody measured, are less sure than those that were.
TEST(Width, AnUnknownEngineIsLessSure) {
  const Gpu* h100 = built_in_gpu("H100-SXM");
  ASSERT_TRUE(h100);
  const Kernel kernel{Gemm{512, 4096, 4096}, *format_from("bf16")};
  Context known, unknown;
  known.engine = Launcher::vllm;
  unknown.engine = Launcher::vllm, unknown.kernel_source = KernelSource::named("a_kernel_of_tomorrow");
  const auto seen = price(kernel, *h100, known, Method::tilecast, &shipped_models());
  const auto unseen = price(kernel, *h100, unknown, Method::tilecast, &shipped_models());
  ASSERT_TRUE(seen && unseen);
  EXPECT_GT(unseen->estimate.shared.up, seen->estimate.shared.up);
  EXPECT_GT(width_of(unseen->estimate.interval, unseen->estimate.latency).up,
            width_of(seen->estimate.interval, seen->estimate.latency).up);
}

}  // namespace
}  // namespace tilecast
