// Matrix products through schedule, caches and bound.
#include <gtest/gtest.h>

#include "estimate/bound.h"
#include "estimate/estimate.h"
#include "estimate/residency.h"
#include "gpu/registry.h"
#include "kernel/attention_prefill.h"
#include "kernel/gemm.h"
#include "kernel/gemm_testing.h"
#include "kernel/plan_testing.h"
#include "schedule/schedule.h"

namespace tilecast {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

TEST(GemmTraffic, AgreesWithCountersOfALargeProduct) {
  const Launch launch = launch_of({1, 4096, 4096, 4096}, large_choice());
  Context cold;
  cold.warmth = Warmth::cold;
  const Gpu gpu = *find_gpu("H200");
  const Traffic traffic = expected_traffic(launch, gpu, cold);
  EXPECT_NEAR(in_megabytes(traffic.load), 149, 0.1 * 149);  // measured: tc031
  EXPECT_NEAR(in_megabytes(traffic.store), 27.5, 0.1 * 27.5);
  EXPECT_EQ(in_megabytes(least_traffic(launch, gpu, cold).load), 64 * kMiB * 1e-6);
}

// rocBLAS reaches 34.5 of 46.1 TFLOP/s in fp32 on MI100 and 33.0 of 45.3 on MI210 (NeuSight), and nobody measured more.
TEST(GemmForecast, MatrixCoresBeforeCdna3ReachThreeQuarters) {
  for (const char* name : {"MI100", "MI210", "MI250"})
    for (const char* dtype : {"fp32", "bf16", "fp16"}) {
      const Gpu gpu = *find_gpu(name);
      const Kernel kernel{Gemm{8192, 8192, 8192}, *format_from(dtype)};
      const auto planned = plan(kernel, gpu, {});
      const Estimate e = estimate(*planned, gpu, {}, Method::analytic);
      EXPECT_NEAR(e.efficiency, 0.72, 0.04) << name << " " << dtype;
      EXPECT_LT(e.interval.low, 0.9 * e.latency) << "both ends are open";
    }
}

TEST(GemmProperties, BoundDoesNotKnowThePlan) {
  const Gpu gpu = *find_gpu("H100-SXM");
  for (const Warmth warmth : {Warmth::cold, Warmth::warm, Warmth::model}) {
    Context context;
    context.warmth = warmth;
    std::optional<Seconds> bound;
    for (const GemmChoice& choice :
         {plain_choice(128, 128), plain_choice(64, 256, 4), plain_choice(16, 64, 2), large_choice()}) {
      const Launch launch = launch_of({1, 512, 4096, 8192}, choice);
      const Seconds time = largest(peak_times(launch, schedule(launch, gpu), least_traffic(launch, gpu, context), gpu));
      EXPECT_EQ(time, bound.value_or(time));
      bound = time;
    }
  }
}

TEST(GemmProperties, MoreWorkIsNeverLessAtEqualPlan) {
  const Gpu gpu = *find_gpu("A100-SXM-80GB");
  Load before;
  for (Count m = 1; m <= 8192; m = m * 3 / 2 + 1) {
    const Load load = schedule(launch_of({1, m, 1000, 777}, plain_choice(64, 128), "bf16", "A100-SXM-80GB"), gpu);
    EXPECT_GE(load.busiest.tensor, before.busiest.tensor);
    EXPECT_GE(load.steps_busiest, before.steps_busiest);
    EXPECT_GE(load.tasks_busiest, before.tasks_busiest);
    before = load;
  }
}

TEST(GemmProperties, EveryPlanFitsAnSm) {
  for (const std::string_view gpu : {"V100-SXM", "A100-SXM-80GB", "L40S", "H200", "B200"})
    for (const Gemm& shape : {Gemm{1, 4096, 4096}, Gemm{37, 1001, 999}, Gemm{4096, 4096, 4096}})
      EXPECT_GE(occupancy(planned(shape, "fp16", gpu).launches.front().cta, *find_gpu(gpu)), 1) << gpu;
}

// FlashAttention 2's tile of 128 queries by 64 keys at head dim 128.
TEST(FlashAttention2, TwoCtasShareAnSmOfA100) {
  AttentionPrefill shape;
  shape.batch = 32, shape.q_len = 256, shape.heads = 8, shape.kv_heads = 4, shape.head_dim = 128;
  const Plan plan = planned(shape, "bf16", "A100-SXM-80GB");
  EXPECT_EQ(occupancy(plan.launches[0].cta, *find_gpu("A100-SXM-80GB")), 2);
}

}  // namespace
}  // namespace tilecast
