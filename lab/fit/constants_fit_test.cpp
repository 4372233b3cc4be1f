#include "lab/fit/constants_fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "constants/estimate.h"
#include "constants/product.h"
#include "gpu/registry.h"
#include "kernel/elementwise.h"
#include "kernel/gemm.h"
#include "lab/fit/constants_report.h"
#include "lab/fit/refitted_training.h"
#include "measure/outcome.h"

namespace tilecast {
namespace {

// Additions of every size on cards whose memory reaches another share of its peak than shipped, and products whose main
// loops wait longer.
std::vector<Measurement> made_up(const TunedConstants& truth) {
  std::vector<Measurement> rows;
  for (const char* name : {"A100-SXM-80GB", "H100-SXM", "H200-SXM"}) {
    Gpu gpu = *built_in_gpu(name);
    gpu.constants = std::make_shared<const TunedConstants>(truth);
    const auto add = [&](Shape shape) {
      Measurement row;
      row.gpu = name;
      row.kernel = Kernel{std::move(shape), *format_from("bf16")};
      row.context.warmth = Warmth::cold;
      row.latency = forecast_row(row, gpu, Method::analytic).forecast;
      rows.push_back(row);
    };
    for (Count n = 1 << 10; n <= 1 << 30; n *= 4) {
      Elementwise sum;
      sum.elements = n, sum.inputs = 2;
      add(sum);
    }
    for (Count n = 128; n <= 8192; n *= 2) {
      Gemm product;
      product.m = 256, product.n = n, product.k = 4096;
      add(product);
    }
  }
  return rows;
}

std::vector<const Measurement*> pointers(const std::vector<Measurement>& rows) {
  std::vector<const Measurement*> all;
  for (const Measurement& row : rows) all.push_back(&row);
  return all;
}

double value_in(const ConstantsFit& fit, const Tunable& constant) { return fit.tuned().value(constant); }

TEST(ConstantsFit, FindsTheConstantsThatMadeTheRows) {
  TunedConstants truth;
  truth.set(constants::kHbmEfficiency, 0.66);
  truth.set(constants::kWgmmaPipeline.step_clocks, 300);
  const std::vector<Measurement> rows = made_up(truth);
  ConstantsFitOptions options;
  options.passes = 8;
  const auto fit = fit_constants(pointers(rows), shipped_constants(), options);
  ASSERT_TRUE(fit);
  EXPECT_GT(fit->loss_before, 0.05);
  EXPECT_LT(fit->loss, fit->loss_before / 4);
  EXPECT_NEAR(value_in(*fit, constants::kHbmEfficiency), 0.66, 0.03);
  // No attention among the rows.
  EXPECT_GT(fit->idle(), 60);
}

TEST(ConstantsFit, StaysWhereRowsAgree) {
  const std::vector<Measurement> rows = made_up(TunedConstants());
  const auto fit = fit_constants(pointers(rows), shipped_constants(), {.passes = 2});
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->loss_before, 0);
  EXPECT_EQ(fit->moved(), 0);
}

TEST(ConstantsFit, GoesOnFromItsStateAsIfNeverStopped) {
  TunedConstants truth;
  truth.set(constants::kHbmEfficiency, 0.7);
  const std::vector<Measurement> rows = made_up(truth);
  const auto whole = fit_constants(pointers(rows), shipped_constants(), {.passes = 3, .threads = 2});
  const auto begun = fit_constants(pointers(rows), shipped_constants(), {.passes = 1});
  ASSERT_TRUE(whole && begun);
  const auto state = state_from(state_text(*begun, "these rows"), "these rows");
  ASSERT_TRUE(state) << state.error().problem;
  const auto resumed = fit_constants(pointers(rows), *state, {.passes = 3});
  ASSERT_TRUE(resumed);
  for (std::size_t i = 0; i < whole->constants.size(); ++i)
    EXPECT_EQ(whole->constants[i].value, resumed->constants[i].value) << whole->constants[i].constant->name;
  EXPECT_EQ(whole->loss_before, resumed->loss_before);
}

TEST(ConstantsFit, RefusesAStateOfAnotherFit) {
  const std::string text = state_text(shipped_constants(), "these rows");
  EXPECT_FALSE(state_from(text, "other rows"));
  EXPECT_FALSE(state_from("tilecast fit 1\nabout these rows\n", "these rows"));
  EXPECT_FALSE(state_from(text.substr(0, text.size() / 2), "these rows"));
  EXPECT_TRUE(state_from(text, "these rows"));
}

TEST(ConstantsFit, JudgesTheThreeSetsOfConstants) {
  TunedConstants truth;
  truth.set(constants::kHbmEfficiency, 0.44);
  const std::vector<Measurement> rows = made_up(truth);
  ConstantsFit right = shipped_constants();
  for (FittedConstant& f : right.constants)
    if (f.constant == &constants::kHbmEfficiency) f.value = 0.44;
  const auto all = pointers(rows);
  const auto families = left_out_errors(
      all, right, shipped_constants(), [&](const TunedConstants& c) { return errors_under(all, c, 2); },
      [](const Measurement& row) { return std::string(family_of(row.kernel.shape)); });
  const LeftOutErrors& sums = families.at("elementwise");
  EXPECT_EQ(sums.with, 0);
  EXPECT_GT(sums.shipped, 0.1);
  EXPECT_EQ(sums.shipped, sums.without);
}

// Cards of a world with other constants: a training whose physics has them has nothing left to learn, and judges a card
// that it never saw by them.
TEST(ConstantsReport, LearnedErrorsAreAveragedOverCards) {
  ConstantsReport report;
  report.with = shipped_constants();
  report.learned_sample = 30;
  report.fits = {
      {"A100-SXM-80GB", shipped_constants(), {}, {{"gemm/bf16", {100, 0.06, 0.07, 0.10}}}},
      {"L40S", shipped_constants(), {}, {{"gemm/bf16", {20, 0.10, 0.11, 0.12}}, {"moe/fp8", {5, 0.2, 0.2, 0.2}}}}};
  const std::string page = constants_page(report), means = learned_means_of(page);
  EXPECT_NE(means.find("| gemm/bf16 | 2 | 120 | 8.0 % | 9.0 % | 11.0 % |"), std::string::npos) << means;
  EXPECT_NE(means.find("| moe/fp8 | 1 | 5 | 20.0 % | 20.0 % | 20.0 % |"), std::string::npos) << means;
  EXPECT_EQ(means.find("## "), std::string::npos) << "the table alone";
  EXPECT_EQ(learned_means_of("# Constants refitted without a card\n"), "");
}

TEST(RefittedTraining, LearnsOnTopOfTheConstantsGiven) {
  TunedConstants truth;
  truth.set(constants::kHbmEfficiency, 0.44);
  const std::vector<Measurement> rows = made_up(truth);
  std::vector<const Measurement*> left, rest;
  for (const Measurement& row : rows) (row.gpu == "H200-SXM" ? left : rest).push_back(&row);
  TrainOptions options;
  options.set_trees(10);
  const auto mean = [&](const TunedConstants& c) {
    double sum = 0;
    for (const double error : learned_errors_under(left, rest, c, options)) {
      EXPECT_GE(error, 0);
      sum += error / static_cast<double>(left.size());
    }
    return sum;
  };
  EXPECT_LT(mean(truth), 1e-3);
  EXPECT_GT(mean(TunedConstants()), 0.01) << "what is learned of others does not make up for it";
}

}  // namespace
}  // namespace tilecast
