#include "cli/plot/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/plot/axis.h"
#include "cli/plot/series.h"

namespace tilecast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

RowCell number(double value) { return {std::to_string(value), value, false}; }
RowCell words(const char* text) { return {text, {}, false}; }

// Two cards over three batches; the last of the second cannot run, the last of the first does not fit.
AnswerRows two_cards() {
  AnswerRows rows{{"batch", "gpu", "step_ms", "interval_low_ms", "interval_high_ms", "memory_fits"}, {}, 1, {"requests"},
                  {}, {}};
  for (const double batch : {1.0, 2.0, 4.0})
    for (const char* gpu : {"H100 <&>", "B200"}) {
      const bool runs = !(batch == 4 && gpu[0] == 'B');
      const double time = batch * (gpu[0] == 'B' ? 1 : 2);
      rows.rows.push_back({number(batch), words(gpu), runs ? number(time) : RowCell{},
                           runs ? number(time * 0.9) : RowCell{}, runs ? number(time * 1.2) : RowCell{},
                           {batch == 4 ? "false" : "true", {}, true}});
      rows.combination.push_back(static_cast<std::size_t>(batch));
    }
  return rows;
}

TEST(ChartData, IsALineForEachCard) {
  const auto data = chart_data(two_cards(), "step_ms");
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(data->x_column, "batch");
  EXPECT_EQ(data->x_unit, "requests");
  ASSERT_EQ(data->series.size(), 2u);
  EXPECT_EQ(data->series[0].name, "H100 <&>");
  ASSERT_EQ(data->series[0].points.size(), 3u);
  EXPECT_EQ(data->series[1].points.size(), 2u);
  EXPECT_DOUBLE_EQ(data->series[0].points[2].high, 8 * 1.2);
  EXPECT_FALSE(data->series[0].points[2].fits);
  EXPECT_TRUE(data->has_intervals);
  EXPECT_FALSE(data->all_fit);
}

TEST(ChartData, TakesTheNumberWithMostValuesAndNamesLinesByTheOther) {
  AnswerRows rows{{"batch", "context", "gpu", "latency_us"}, {}, 2, {"", "tokens"}, {}, {}};
  for (const double batch : {1.0, 2.0})
    for (const double context : {8.0, 16.0, 32.0})
      rows.rows.push_back({number(batch), number(context), words("A"), number(batch * context)});
  const auto data = chart_data(rows, "latency_us");
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(data->x_column, "context");
  ASSERT_EQ(data->series.size(), 2u);
  EXPECT_THAT(data->series[0].name, testing::StartsWith("batch 1"));
  EXPECT_FALSE(data->has_intervals);
}

TEST(ChartData, IsRefusedWithoutARangeOrWithoutNumbers) {
  AnswerRows single{{"gpu", "step_ms"}, {{words("A"), number(1)}}, 0, {}, {0}, {}};
  EXPECT_THAT(chart_data(single, "step_ms").error().line(), HasSubstr("no number is a range"));
  EXPECT_THAT(chart_data(two_cards(), "gpu").error().line(), HasSubstr("no numbers"));
  EXPECT_FALSE(sweep_chart(single, {.title = "t", .y = "step_ms"}).ok());
}

TEST(Chart, ShowsTitlesUnitsNamesAndBands) {
  const auto picture = sweep_chart(two_cards(), {.title = "predict", .y = "step_ms", .y_title = "step"});
  ASSERT_TRUE(picture.ok());
  const std::string svg = picture->svg();
  for (const char* part : {"step [ms]", "batch [requests]", "H100 &lt;&amp;&gt;", "B200", "fill-opacity=\"0.14\"",
                           "80 % intervals", "Hollow points do not fit"})
    EXPECT_THAT(svg, HasSubstr(part)) << part;
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  EXPECT_EQ(picture->png().substr(1, 3), "PNG");
}

TEST(Chart, WritesTimesInTheUnitThatFits) {
  AnswerRows rows = two_cards();
  for (auto& row : rows.rows)
    for (std::size_t i = 2; i < 5; ++i)
      if (row[i].number) *row[i].number *= 1e4;
  EXPECT_THAT(sweep_chart(rows, {.title = "t", .y = "step_ms", .y_title = "step"})->svg(), HasSubstr("step [s]"));
}

std::vector<std::string> tick_words(const ChartAxis& axis) {
  std::vector<std::string> all;
  for (const ChartAxis::Tick& tick : axis.ticks()) all.push_back(tick.words);
  return all;
}

TEST(ChartAxis, MarksRoundNumbers) {
  EXPECT_THAT(tick_words(ChartAxis(0, 10, false, 0, 100)), ElementsAre("0", "2", "4", "6", "8", "10"));
  EXPECT_THAT(tick_words(ChartAxis(1, 1000, true, 0, 100)), ElementsAre("1", "10", "100", "1000"));
  EXPECT_THAT(tick_words(ChartAxis(0, 3e6, false, 0, 100)), testing::Contains("1000 k"));
  const ChartAxis even(0, 10, false, 20, 100), backwards(0, 10, false, 200, -100);
  EXPECT_DOUBLE_EQ(even.place(5), 70);
  EXPECT_DOUBLE_EQ(backwards.place(10), 100);
  const ChartAxis same(5, 5, false, 0, 100);  // one number has an axis too
  EXPECT_DOUBLE_EQ(same.place(5), 50);
}

TEST(ChartAxis, AsksForLogarithms) {
  EXPECT_TRUE(asks_for_logarithm({1, 2, 4, 8, 16, 32, 64}));
  EXPECT_FALSE(asks_for_logarithm({1, 8, 16, 24, 32, 40, 48, 56, 64}));
  EXPECT_FALSE(asks_for_logarithm({0, 1, 100, 10000}));
  EXPECT_FALSE(asks_for_logarithm({1, 1000}));
}

}  // namespace
}  // namespace tilecast
