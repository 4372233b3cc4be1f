#include "lab/evidence/power_report.h"

#include <gtest/gtest.h>

#include "estimate/shipped_weights.h"
#include "support/test_files.h"

namespace tilecast {
namespace {

constexpr const char* kPowerColumns = "what,shape,dtype,data,regime,duty,time_us,energy_watts,cycle_mhz,ops\n";

TEST(PowerReport, ErrorsAreOfRowsThatHaveTheFigure) {
  PowerRow slow{"products, bf16", "burst", "normal", {1.0, 1.5e9, {}}, {1.1, 1.5e9, 700}};
  PowerRow fast = slow;
  fast.forecast.time = 0.8, fast.measured.clock.reset();
  const FigureErrors time =
      errors_of({&slow, &fast}, [](const PowerRow& r) { return r.forecast.time / r.measured.time; });
  EXPECT_EQ(time.rows, 2);
  EXPECT_NEAR(time.mean, 0.15, 1e-12);
  EXPECT_NEAR(time.bias, -0.05, 1e-12);
  const FigureErrors clock = errors_of({&slow, &fast}, [](const PowerRow& r) { return r.measured.clock ? 1.0 : -1; });
  EXPECT_EQ(clock.rows, 1);
}

// A load that lasts meets the limit: longer, slower clocked, and no more watts than the card may draw.
TEST(PowerReport, LoadsThatLastAreSlowerThanBursts) {
  const TestFolder folder;
  const auto judged = judge_power(
      folder.plain("r.csv", std::string(kPowerColumns) + "gemm,8192x8192x8192,bf16,normal,burst,1,1372.57,,1624,1\n"
                                                 "gemm,8192x8192x8192,bf16,normal,steady,1,1659.49,682.3,1363,1\n"
                                                 "gemm,8192x8192x8192,bf16,normal,duty,0.25,1372,340,1624,1\n"
                                                 "pipe,64,fp32,zeros,burst,1,10,,1980,1\n"
                                                 "gemm,8192x8192x8192,bf16,normal,burst,1,,,1624,1\n"),
      "H200-SXM", shipped_models());
  ASSERT_TRUE(judged) << judged.error().line();
  ASSERT_EQ(judged->rows.size(), 3u);
  const PowerRow &burst = judged->rows[0], &steady = judged->rows[1], &part = judged->rows[2];
  EXPECT_GT(steady.forecast.time, burst.forecast.time);
  EXPECT_LT(*steady.forecast.clock, *burst.forecast.clock);
  EXPECT_LT(*steady.forecast.watts, 735);
  EXPECT_LT(*part.forecast.watts, *burst.forecast.watts);
  EXPECT_FALSE(burst.measured.watts);
  EXPECT_EQ(judged->left_out.size(), 2u) << "a loop of a pipe, and a row without a time";
  const std::string report = power_report(*judged);
  EXPECT_NE(report.find("| 2 s | normal | 1 |"), std::string::npos) << report;
}

TEST(PowerReport, BadTablesAreRefused) {
  const TestFolder folder;
  EXPECT_FALSE(judge_power(folder.plain("x.csv", "what,shape\n"), "H200-SXM", shipped_models()));
  EXPECT_FALSE(judge_power(folder.plain("y.csv", kPowerColumns), "NoCard", shipped_models()));
}

}  // namespace
}  // namespace tilecast
