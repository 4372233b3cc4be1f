#include "lab/evidence/power_report.h"

#include <gtest/gtest.h>

#include "estimate/shipped_weights.h"
#include "support/test_files.h"

namespace tilecast {
namespace {

constexpr const char* kPowerColumns = "what,shape,dtype,data,regime,duty,time_us,energy_watts,cycle_mhz,launches\n";

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

// A sustained load meets the limit: it takes longer, clocks lower, and draws no more watts than the card may.
TEST(PowerReport, LoadsThatLastAreSlowerThanBursts) {
  const TestFolder folder;
  const auto judged =
      judge_power(folder.plain("r.csv", std::string(kPowerColumns) +
                                            "gemm,8192x8192x8192,bf16,normal,burst,1,1372.57,,1624,1\n"
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

// Bursts of ten launches: 4.2 us per launch are 42 us per burst, of two 21. Products of bf16 are judged, and take no
// part in the fit.
TEST(PowerReport, WhatABurstsFirstReplayTakesIsReadOffOtherKernelsThanThoseJudged) {
  const TestFolder folder;
  const std::string path = folder.plain("r.csv", std::string(kPowerColumns) +
                                                     "pipe,exp2,fp32,normal,burst,1,104.2,,1980,10\n"
                                                     "pipe,exp2,fp32,normal,window,1,100,,1980,99\n"
                                                     "gemm,4096x4096x4096,fp32,normal,burst,1,3021,,1980,2\n"
                                                     "gemm,4096x4096x4096,fp32,normal,window,1,3000,,1980,7\n"
                                                     "gemm,2048x2048x2048,bf16,normal,burst,1,90,,1700,10\n"
                                                     "gemm,2048x2048x2048,bf16,normal,window,1,25,,1700,600\n"
                                                     "gemm,1024x1024x1024,tf32,zeros,burst,1,80,,1700,10\n"
                                                     "gemm,1024x1024x1024,tf32,zeros,window,1,25,,1700,600\n");
  const auto start = burst_start(path);
  ASSERT_TRUE(start) << start.error().line();
  EXPECT_EQ(start->kernels, 2);
  EXPECT_NEAR(start->seconds, 42e-6, 1e-9);
  const auto judged = judge_power(path, "H200-SXM", shipped_models());
  ASSERT_TRUE(judged) << judged.error().line();
  const PowerRow &burst = judged->rows[2], &window = judged->rows[3];
  EXPECT_EQ(burst.what, "products, bf16");
  EXPECT_NEAR(burst.forecast.time - window.forecast.time, 4.2e-6, 1e-9);
}

TEST(PowerReport, BadTablesAreRefused) {
  const TestFolder folder;
  EXPECT_FALSE(judge_power(folder.plain("x.csv", "what,shape\n"), "H200-SXM", shipped_models()));
  EXPECT_FALSE(judge_power(folder.plain("y.csv", kPowerColumns), "NoCard", shipped_models()));
}

}  // namespace
}  // namespace tilecast
