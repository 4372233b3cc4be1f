// Predicted speed-ups against hand-computed ones.
#include "lab/evaluate/speedup.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernel/gemm.h"

namespace tilecast {
namespace {

struct TimedShapes {
  std::vector<Measurement> rows;
  std::vector<Outcome> outcomes;

  Measurement& add(std::string_view gpu, Count m, double measured_us, double forecast_us) {
    Measurement row;
    row.gpu = gpu;
    row.source = "hand";
    row.engine = "vllm";
    row.kernel = {Gemm{m, 64, 64}, *format_from("bf16")};
    row.latency = microseconds(measured_us);
    Outcome outcome;
    outcome.forecast = microseconds(forecast_us);
    rows.push_back(row);
    outcomes.push_back(outcome);
    return rows.back();
  }
  std::vector<SpeedupErrors> errors() const { return speedup_errors(speedup_pairs(rows, outcomes)); }
};

// Two shapes on A and B. Shape 1: measured 20/10 = 2, predicted 24/10 = 2.4, error 0.2, right. Shape 2: measured
// 10/10.5, predicted 11/10: error |1.1 / 0.95238 - 1| = 0.155, wrong, but no clear difference.
TEST(Speedup, ErrorsByHand) {
  TimedShapes data;
  data.add("A", 1, 20, 24);
  data.add("B", 1, 10, 10);
  data.add("B", 2, 10.5, 10);
  data.add("A", 2, 10, 11);
  const auto pairs = speedup_pairs(data.rows, data.outcomes);
  ASSERT_EQ(pairs.size(), 2u);
  for (const SpeedupPair& pair : pairs) {
    EXPECT_EQ(pair.from, "A");
    EXPECT_EQ(pair.to, "B");
  }
  const auto errors = data.errors();
  ASSERT_EQ(errors.size(), 4u);  // the pair's gemm and all, gemm over all pairs, everything
  for (const SpeedupErrors& e : errors) {
    EXPECT_EQ(e.pairs, 2);
    EXPECT_EQ(e.clear, 1);
    EXPECT_NEAR(e.mean, (0.2 + 0.155) / 2, 1e-9);
    EXPECT_NEAR(e.median, (0.2 + 0.155) / 2, 1e-9);
    EXPECT_DOUBLE_EQ(e.named_right, 0.5);
    EXPECT_DOUBLE_EQ(e.clear_named_right, 1);
  }
  EXPECT_EQ(errors.back().from, "all");
  EXPECT_EQ(errors.back().family, "all");
}

TEST(Speedup, ComparesOnlyWhatIsTheSame) {
  TimedShapes data;
  data.add("A", 1, 10, 10);
  data.add("B", 2, 10, 10);                                   // another shape
  data.add("B", 1, 10, 10).engine = "sglang";                 // another engine
  data.add("B", 1, 10, 10).source = "else";                   // another protocol
  data.add("B", 1, 10, 10).context.runtime = Runtime::eager;  // launched otherwise
  data.add("B", 1, 10, 10).kernel.format = *format_from("fp16");
  EXPECT_TRUE(speedup_pairs(data.rows, data.outcomes).empty());
  EXPECT_TRUE(data.errors().empty());
  data.add("B", 1, 10, 10);
  EXPECT_EQ(speedup_pairs(data.rows, data.outcomes).size(), 1u);
  data.outcomes.back().failed = true;
  EXPECT_TRUE(speedup_pairs(data.rows, data.outcomes).empty());
}

// 4 and 16 us stand as 8, 8 and 8 as 8: measured 8/2 = 4, predicted 8/4 = 2.
TEST(Speedup, SeveralRowsStandAsTheirGeometricMean) {
  TimedShapes data;
  data.add("A", 1, 4, 8);
  data.add("A", 1, 16, 8);
  data.add("B", 1, 2, 4);
  const auto pairs = speedup_pairs(data.rows, data.outcomes);
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_NEAR(pairs[0].measured, 4, 1e-12);
  EXPECT_NEAR(pairs[0].predicted, 2, 1e-12);
  EXPECT_NEAR(pairs[0].error(), 0.5, 1e-12);
}

// A-B has three shapes with error 0, A-C and B-C one each with errors 0.5 and 0.5: the average is over pairs of GPUs.
TEST(Speedup, NoPairOfGpusDominates) {
  TimedShapes data;
  for (Count m = 1; m <= 3; ++m) {
    data.add("A", m, 20, 20);
    data.add("B", m, 10, 10);
  }
  data.add("C", 1, 5, 10);
  const auto errors = data.errors();
  EXPECT_NEAR(errors.back().mean, (0 + 0.5 + 0.5) / 3, 1e-12);
  EXPECT_EQ(errors.back().pairs, 5);
}

TEST(Speedup, ClearMeansMoreThanATenthEitherWay) {
  EXPECT_FALSE((SpeedupPair{"A", "B", "gemm", 1.09, 1}).clear());
  EXPECT_TRUE((SpeedupPair{"A", "B", "gemm", 1.11, 1}).clear());
  EXPECT_FALSE((SpeedupPair{"A", "B", "gemm", 1 / 1.09, 1}).clear());
  EXPECT_TRUE((SpeedupPair{"A", "B", "gemm", 1 / 1.11, 1}).clear());
  EXPECT_FALSE((SpeedupPair{"A", "B", "gemm", 1.2, 1}).named_right());  // a predicted tie names nobody
  EXPECT_FALSE((SpeedupPair{"A", "B", "gemm", 1, 1}).decided());
}

}  // namespace
}  // namespace tilecast
