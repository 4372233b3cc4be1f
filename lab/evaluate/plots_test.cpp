// Plots: what they say, that they stay small, and that they are well-formed.
#include "lab/evaluate/plots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/gemm.h"
#include "support/scale.h"
#include "support/svg.h"

namespace tilecast {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Sample {
  std::vector<Measurement> rows;
  std::vector<Outcome> outcomes;

  void add(std::string_view gpu, double measured_us, double forecast_us, Regime regime = Regime::memory) {
    Measurement row;
    row.gpu = gpu;
    row.kernel = {Gemm{8, 8, 8}, *format_from("bf16")};
    row.latency = microseconds(measured_us);
    Outcome outcome;
    outcome.forecast = microseconds(forecast_us);
    outcome.regime = regime;
    rows.push_back(row);
    outcomes.push_back(outcome);
  }
};

// Tags open and close in turn, and nothing is left open.
void expect_well_formed(const std::string& svg) {
  std::vector<std::string> open;
  for (std::size_t at = svg.find('<'); at != std::string::npos; at = svg.find('<', at + 1)) {
    const std::size_t end = svg.find('>', at);
    ASSERT_NE(end, std::string::npos);
    const std::string tag = svg.substr(at + 1, end - at - 1);
    if (tag.ends_with('/')) continue;
    if (tag.starts_with('/')) {
      ASSERT_FALSE(open.empty());
      EXPECT_EQ(tag.substr(1), open.back());
      open.pop_back();
    } else {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
  }
  EXPECT_TRUE(open.empty());
}

TEST(Scale, PlacesAndDecades) {
  const LogScale scale{1e-6, 1e-2};
  EXPECT_NEAR(scale.at(1e-4), 0.5, 1e-12);
  EXPECT_NEAR(scale.value(0.75), 1e-3, 1e-15);
  EXPECT_EQ(scale.decades().size(), 5u);
  EXPECT_EQ((LogScale{0.2, 5}).decades().size(), 1u);
}

TEST(Svg, EscapesWordsAndIsWellFormed) {
  Svg svg(100, 50, "a < b & c");
  svg.text(1, 2, "\"x\" > y", {.turned = -35});
  svg.line(0, 0, 1, 1, colour::kInk, 1, "2 2");
  expect_well_formed(svg.file());
  EXPECT_THAT(svg.file(), HasSubstr("<title>a &lt; b &amp; c</title>"));
  EXPECT_THAT(svg.file(), HasSubstr("&quot;x&quot; &gt; y"));
  EXPECT_EQ(blue_shade(-1), blue_shade(0));
  EXPECT_EQ(blue_shade(1), "#08306b");
}

TEST(Plots, ErrorMapSaysMeansByGpuAndFamily) {
  Sample sample;
  sample.add("A", 10, 12);
  sample.add("A", 10, 9);
  sample.add("B", 10, 15);
  const std::string svg = error_map("errors", sample.rows, sample.outcomes);
  expect_well_formed(svg);
  for (const char* words : {">A<", ">B<", ">gemm<", ">15.0<", ">50.0<", ">errors<"}) EXPECT_THAT(svg, HasSubstr(words));
}

// 10 us forecast as 100 us: five decades over 36 bins put 10 us into bin 7, 100 us into bin 14, counted from below.
TEST(Plots, PanelsBinForecastOverMeasured) {
  Sample sample;
  sample.add("A", 10, 100);
  const std::string svg = forecast_against_measured("t", sample.rows, sample.outcomes);
  expect_well_formed(svg);
  EXPECT_THAT(svg, HasSubstr("d=\"M7 21h1v1h-1z\""));
  EXPECT_THAT(svg, HasSubstr("gemm, 1 rows"));
}

TEST(Plots, ManyRowsStaySmall) {
  Sample sample;
  for (int i = 0; i < 20000; ++i) {
    const double measured = std::pow(10, (i % 500) / 100.0);
    sample.add("A", measured, measured * std::pow(2, (i * 37 % 101) / 50.0 - 1), static_cast<Regime>(i % 3));
  }
  EXPECT_LT(forecast_against_measured("t", sample.rows, sample.outcomes).size(), 15000u);
  const std::string strips = residuals_by_regime("t", sample.rows, {{"ours", sample.outcomes}});
  expect_well_formed(strips);
  EXPECT_LT(strips.size(), 20000u);
}

TEST(Plots, ResidualsSayMedianAndRangeOfEachRegime) {
  Sample sample;
  for (const double forecast : {5.0, 10.0, 20.0, 1000.0}) sample.add("A", 10, forecast, Regime::compute);
  Outcome failed;
  failed.failed = true;
  const std::string svg =
      residuals_by_regime("t", sample.rows, {{"ours", sample.outcomes}, {"none", std::vector<Outcome>(4, failed)}});
  EXPECT_THAT(svg, HasSubstr("ours 1.50 (0.65–70.60), 25 % beyond"));
  EXPECT_THAT(svg, HasSubstr(">4 rows<"));
  EXPECT_THAT(svg, HasSubstr(">no rows<"));  // launch- and memory-bound
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace tilecast
