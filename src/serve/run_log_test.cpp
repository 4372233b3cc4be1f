#include "serve/run_log.h"

#include <gtest/gtest.h>

#include "serve/metrics.h"
#include "support/random.h"

namespace tilecast {
namespace {

// However few records are kept, sums over the run stay.
TEST(ServeRunLog, SumsStay) {
  ServingOutcome all, few;
  RunLog whole(all), bounded(few, 64, 100);
  Random random(1);
  double at = 0;
  for (int i = 0; i < 5000; ++i) {
    StepRecord s;
    s.start = seconds(at), s.end = seconds(at + 0.01 * (1 + random.uniform()));
    at += 0.01;
    s.replica = static_cast<std::int32_t>(random.below(3));
    s.prompt_tokens = random.uniform() < 0.2 ? 100 : 0;
    s.decodes = 1 + static_cast<std::int32_t>(random.below(9)), s.running = s.decodes, s.waiting = 2;
    s.cache = static_cast<float>(random.uniform()), s.gpu = 0.005f, s.joules = 2;
    whole.add_step(s), bounded.add_step(s);
    whole.add_gap(seconds(0.02)), bounded.add_gap(seconds(0.02));
  }
  EXPECT_EQ(all.steps.size(), 5000u);
  EXPECT_LE(few.steps.size(), 64u);
  EXPECT_LE(few.gaps.size(), 100u);
  EXPECT_EQ(few.gap_count, 5000);
  EXPECT_EQ(few.cache_peak, all.cache_peak);
  for (ServingOutcome* out : {&all, &few}) out->end = seconds(at), out->replicas = 3, out->idle = watts(10);
  const ServingMetrics a = metrics_of(all), b = metrics_of(few);
  EXPECT_EQ(a.steps, b.steps);
  EXPECT_NEAR(a.mean_batch, b.mean_batch, 1e-9);
  EXPECT_NEAR(a.cache_mean, b.cache_mean, 1e-4);
  EXPECT_NEAR(a.energy->joules, b.energy->joules, 1e-2);
  EXPECT_EQ(a.cache_peak, b.cache_peak);
  double busy = 0, coarse = 0;
  for (const Slice& s : over_time(all, 20)) busy += s.busy;
  for (const Slice& s : over_time(few, 20)) coarse += s.busy;
  EXPECT_NEAR(busy, coarse, 0.01 * busy);
}

}  // namespace
}  // namespace tilecast
