#include "parallel/training_run.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tilecast {
namespace {

Seconds minutes(double n) { return seconds(60 * n); }
Seconds hours(double n) { return seconds(3600 * n); }

// Daly's figures 3 to 5: checkpoints of five minutes, failures every day, six hours, quarter of an hour.
TEST(CheckpointInterval, IsDalys) {
  EXPECT_NEAR(best_checkpoint_interval(hours(24), minutes(5)) / minutes(1), 117, 0.5);
  EXPECT_NEAR(best_checkpoint_interval(hours(6), minutes(5)) / minutes(1), 57, 0.5);
  EXPECT_NEAR(best_checkpoint_interval(minutes(15), minutes(5)) / minutes(1), 9.1, 0.1);
}

TEST(CheckpointInterval, LosesLeast) {
  for (const double mean : {1.0, 10.0, 1000.0})
    for (const double save : {0.01, 1.0, 20.0}) {
      const Seconds best = best_checkpoint_interval(minutes(mean), minutes(save));
      const double most = goodput(minutes(mean), minutes(save), minutes(1), best);
      for (const double off : {0.5, 0.9, 1.1, 2.0})
        EXPECT_GE(most, goodput(minutes(mean), minutes(save), minutes(1), best * off)) << mean << ' ' << save;
    }
}

TEST(CheckpointInterval, IsNoneWithoutFailuresOrCost) {
  EXPECT_EQ(best_checkpoint_interval(seconds(0), minutes(5)), seconds(0));
  EXPECT_EQ(best_checkpoint_interval(hours(1), seconds(0)), seconds(0));
}

// One hour between failures, ten minutes of work, two to save, three to restart: 10 / (60 e^(3/60) (e^(12/60) - 1)).
TEST(Goodput, IsWorkOverExpectedTime) {
  const double expected = 10 / (60 * std::exp(0.05) * (std::exp(0.2) - 1));
  EXPECT_NEAR(goodput(hours(1), minutes(2), minutes(3), minutes(10)), expected, 1e-12);
}

TEST(Goodput, IsAtMostOneAndFallsWithFailures) {
  for (const double save : {0.0, 0.1, 5.0})
    for (const double restart : {0.0, 10.0})
      for (const double interval : {1.0, 30.0, 600.0}) {
        double before = 1;
        for (double mean = 1e7; mean > 0.1; mean /= 3) {
          const double now = goodput(minutes(mean), minutes(save), minutes(restart), minutes(interval));
          EXPECT_LE(now, before) << save << ' ' << restart << ' ' << interval << ' ' << mean;
          EXPECT_GE(now, 0);
          before = now;
        }
      }
}

TEST(RunTime, WithoutFailuresIsTheWork) {
  const RunTime run =
      run_time(hours(100), 64, bytes(1e12), {seconds(0), minutes(10), bytes_per_second(1e8), seconds(0)});
  EXPECT_EQ(run.total, hours(100));
  EXPECT_EQ(run.goodput, 1);
  EXPECT_EQ(run.failures, 0);
}

TEST(RunTime, GrowsWithFailuresAndTheyWithGpus) {
  Reliability r{hours(50'000), minutes(10), bytes_per_second(8e7), seconds(0)};
  double before = 0;
  for (const int gpus : {8, 64, 1024, 16'384, 131'072}) {
    const RunTime run = run_time(hours(1000), gpus, bytes(5e12), r);
    EXPECT_NEAR(run.between_failures / hours(1), 50'000.0 / gpus, 1e-9);
    EXPECT_GT(run.failures, before);
    EXPECT_LE(run.goodput, 1);
    EXPECT_NEAR(run.total / hours(1000) * run.goodput, 1, 1e-12);
    before = run.failures;
  }
}

// Meta's 54 days on 16,384 GPUs: 419 failures, and more than 90 % of the time was useful.
TEST(RunTime, AgreesWithWhatWasReportedOfLlama3) {
  const RunTime run = run_time(hours(54 * 24 * 0.9), 16'384, bytes(405e9 * 12),
                               {hours(50'676), minutes(10), bytes_per_second(16'384 * 8.1e7), seconds(0)});
  EXPECT_NEAR(run.failures, 419, 30);
  EXPECT_GT(run.goodput, 0.88);
  EXPECT_LT(run.goodput, 0.97);
}

TEST(RunTime, NeverEndsWhereCheckpointsAreRarerThanFailuresByFar) {
  const RunTime run = run_time(hours(1), 1, bytes(1), {seconds(1), seconds(1), bytes_per_second(1e9), hours(100)});
  EXPECT_EQ(run.goodput, 0);
  EXPECT_TRUE(std::isinf(run.total.base()));
}

}  // namespace
}  // namespace tilecast
