// Cards made up with known faults: does the calibration find them, and leave alone what it cannot know?
#include "calibrate/calibrate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace tilecast {
namespace {

// Rows whose times are shared between arithmetic, DRAM and the launch in ever other ways; `measured` says how long each
// takes on the card, from its terms.
template <class Measured>
std::vector<CalibrationRow> made_rows(std::size_t count, const std::string& key, double noise, unsigned seed,
                                      Measured measured) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> size(-2, 6), place(0, 3);
  std::normal_distribution<double> error(0, noise);
  std::vector<CalibrationRow> rows;
  for (std::size_t i = 0; i < count; ++i) {
    CalibrationRow row;
    row.key = key;
    row.variant = "engine/kernel|graph|warm";
    row.terms.math = std::exp2(size(random)), row.terms.dram = std::exp2(size(random)), row.terms.floor = 2;
    row.terms.overlap = 4;
    row.rates = tuned_rates(Tuning{}, 1);
    row.forecast_us = tuned_time(row.terms, row.rates);
    row.low_us = row.forecast_us * 0.8, row.high_us = row.forecast_us * 1.25;
    row.bound_us = 0.1 * row.forecast_us;
    row.place[0] = place(random);
    row.measured_us = measured(row) * std::exp(error(random));
    rows.push_back(std::move(row));
  }
  return rows;
}

double slower_dram(const CalibrationRow& row) {
  Terms terms = row.terms;
  terms.dram *= 1.3f;
  return tuned_time(terms, row.rates);
}

double mean_after(const Calibration& calibration, const std::vector<CalibrationRow>& rows) {
  double sum = 0;
  for (const CalibrationRow& row : rows) sum += error_of(calibrated_us(calibration, row), row);
  return sum / static_cast<double>(rows.size());
}
double factor(const Calibration& calibration, const std::string& key, CardTerm term) {
  const auto i = static_cast<std::size_t>(term);
  return std::exp(static_cast<double>(calibration.factors[i] + calibration.families.at(key).factors[i]));
}

TEST(Calibrate, FindsWhichPartOfTheCardIsSlow) {
  const CheckedCalibration found = *calibrate(made_rows(300, "gemm/bf16", 0.02, 1, slower_dram));
  EXPECT_NEAR(factor(found.calibration, "gemm/bf16", CardTerm::dram), 1.3, 0.06);
  EXPECT_NEAR(factor(found.calibration, "gemm/bf16", CardTerm::math), 1.0, 0.05);
  ASSERT_EQ(found.gains.size(), 1u);
  EXPECT_TRUE(found.gains[0].kept);
  const auto others = made_rows(300, "gemm/bf16", 0, 2, slower_dram);
  EXPECT_GT(mean_after({}, others), 0.08);
  EXPECT_LT(mean_after(found.calibration, others), 0.02);
}

TEST(Calibrate, WhatOneFamilyTaughtAboutTheCardHelpsAnother) {
  const CheckedCalibration found = *calibrate(made_rows(300, "gemm/bf16", 0.02, 1, slower_dram));
  const auto others = made_rows(200, "softmax/bf16", 0, 3, slower_dram);
  EXPECT_LT(mean_after(found.calibration, others), 0.9 * mean_after({}, others));
}

TEST(Calibrate, FollowsASmoothErrorThatNoFactorExplains) {
  const auto wavy = [](const CalibrationRow& row) {
    return row.forecast_us * std::exp(0.25 * std::sin(2 * static_cast<double>(row.place[0])));
  };
  const CheckedCalibration found = *calibrate(made_rows(200, "moe/bf16", 0.02, 4, wavy));
  const auto others = made_rows(200, "moe/bf16", 0, 5, wavy);
  EXPECT_GT(mean_after({}, others), 0.13);
  EXPECT_LT(mean_after(found.calibration, others), 0.04);
  EXPECT_FALSE(found.calibration.families.at("moe/bf16").points.empty());
}

TEST(Calibrate, FewRowsMoveLittle) {
  const auto noisy =
      made_rows(kLeastCalibrationRows, "gemm/bf16", 0.3, 6, [](const CalibrationRow& row) { return row.forecast_us; });
  const Calibration found = calibrate(noisy)->calibration;
  const auto others = made_rows(200, "gemm/bf16", 0, 7, [](const CalibrationRow& row) { return row.forecast_us; });
  EXPECT_LT(mean_after(found, others), 0.15) << "rows that err by 30 % must not be believed";
}

TEST(Calibrate, LeavesAFamilyAloneThatItCannotImprove) {
  auto rows = made_rows(200, "gemm/bf16", 0.02, 8, slower_dram);
  const auto fine = made_rows(40, "softmax/bf16", 0.1, 9, [](const CalibrationRow& row) { return row.forecast_us; });
  rows.insert(rows.end(), fine.begin(), fine.end());
  std::shuffle(rows.begin(), rows.end(), std::mt19937(1));
  const CheckedCalibration found = *calibrate(rows);
  for (const CalibrationGain& gain : found.gains) {
    if (gain.key != "softmax/bf16") continue;
    if (gain.kept) EXPECT_LT(gain.after, gain.before);
    else
      for (const CalibrationRow& row : fine)
        EXPECT_NEAR(calibrated_us(found.calibration, row), row.forecast_us, 1e-3 * row.forecast_us);
  }
}

TEST(Calibrate, NeverForecastsBelowTheBound) {
  const auto much_faster = [](const CalibrationRow& row) { return 0.05 * row.forecast_us; };
  const auto rows = made_rows(100, "gemm/bf16", 0.01, 10, much_faster);
  const Calibration found = calibrate(rows)->calibration;
  for (const CalibrationRow& row : rows) EXPECT_GE(calibrated_us(found, row), row.bound_us);
}

TEST(Calibrate, IntervalsHoldFourRowsInFive) {
  const auto rows = made_rows(400, "gemm/bf16", 0.05, 11, slower_dram);
  const Calibration found = calibrate(rows)->calibration;
  const double spread = static_cast<double>(found.families.at("gemm/bf16").spread);
  int inside = 0;
  const auto others = made_rows(400, "gemm/bf16", 0.05, 12, slower_dram);
  for (const CalibrationRow& row : others) {
    const double time = calibrated_us(found, row);
    inside += row.measured_us >= time * std::pow(row.low_us / row.forecast_us, spread) &&
              row.measured_us <= time * std::pow(row.high_us / row.forecast_us, spread);
  }
  EXPECT_NEAR(inside / 400.0, 0.8, 0.07);
}

}  // namespace
}  // namespace tilecast
