#include "tilecast/calibrate.h"

#include <nlohmann/json.hpp>

#include "api/arguments_testing.h"
#include "support/test_files.h"
#include "tilecast/gpu.h"
#include "tilecast/kernel.h"

namespace tilecast {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Norms of `count` sizes on a card that takes 3 us and 0.7 us for each 64 rows.
std::string norms(const char* gpu, int count) {
  std::string text = "gpu,source,engine,engine_version,kernel_source,family,dtype,dims,runtime,warmth,latency_us\n";
  for (int m = 1; m <= count; ++m)
    text +=
        fmt::format("{},s,pytorch,1,torch,rmsnorm,bf16,rows={};cols=4096,graph,warm,{}\n", gpu, 64 * m, 3 + 0.7 * m);
  return text;
}

double norm_us(const std::string& gpu) {
  const auto answer =
      forecast({.family = "rmsnorm", .dims = {{"rows", "4096"}, {"cols", "4096"}}, .gpu = gpu, .engine = "pytorch"});
  EXPECT_TRUE(answer.ok()) << answer.error().line();
  return in_microseconds(answer->latency);
}

TEST(CalibrateApi, TheDescriptionIsACardForEveryQuery) {
  const TestFolder folder;
  const auto report = calibrate({.gpu = "H100-SXM", .data = {folder.plain("rows.csv", norms("H100-SXM", 60))}});
  ASSERT_TRUE(report.ok()) << report.error().line();
  EXPECT_EQ(report->gpu, "H100-SXM");
  EXPECT_EQ(report->rows, 60);
  ASSERT_EQ(report->families.size(), 1u);
  EXPECT_EQ(report->families[0].family, "rmsnorm/bf16");
  EXPECT_TRUE(report->families[0].kept);
  EXPECT_LT(report->error_after, report->error_before);
  EXPECT_DOUBLE_EQ(report->error_before, report->families[0].error_before) << "the only one";
  EXPECT_EQ(report->time_factors.size(), 5u);
  EXPECT_NEAR(norm_us(report->description), 3 + 0.7 * 64, 6) << "what was measured next to it";
  EXPECT_LT(norm_us("H100-SXM"), 36);
  const auto card = describe_gpu({.name = report->description});
  ASSERT_TRUE(card.ok()) << card.error().line();
  EXPECT_TRUE(card->calibrated);
}

TEST(CalibrateApi, AgainFromADescription) {
  const TestFolder folder;
  const std::string rows = folder.plain("rows.csv", norms("H100-SXM", 40));
  const std::string own = R"({"like": "H100-SXM", "name": "mine", "power_w": 500})";
  const auto first = calibrate({.gpu = own, .data = {rows}});
  ASSERT_TRUE(first.ok()) << first.error().line();
  const auto json = nlohmann::json::parse(first->description);
  EXPECT_EQ(json["power_w"], 500) << "what the description said stays";
  EXPECT_EQ(json["calibration"]["rows"], 40);
  const auto again = calibrate({.gpu = first->description, .data = {rows}});
  ASSERT_TRUE(again.ok()) << again.error().line();
  EXPECT_EQ(again->description, first->description) << "measured anew, not on top of an older one";
}

TEST(CalibrateApi, JudgedByOtherShapes) {
  const TestFolder folder;
  const auto report = calibrate({.gpu = "H100-SXM",
                                 .data = {folder.plain("rows.csv", norms("H100-SXM", 40))},
                                 .judge = folder.plain("judge.csv", norms("H100-SXM", 60))});
  ASSERT_TRUE(report.ok()) << report.error().line();
  EXPECT_EQ(report->judged_rows, 20) << "the other forty were fitted to";
  ASSERT_EQ(report->judged.size(), 1u);
  EXPECT_DOUBLE_EQ(report->judged[0].error_after, report->judged_after);
  EXPECT_LT(report->judged_after, report->judged_before);
}

TEST(CalibrateApi, ErrorsNameWhatIsWrong) {
  const TestFolder folder;
  const std::string five = folder.plain("five.csv", norms("H200-SXM", 5)),
                    other = folder.plain("other.csv", norms("L4", 20)),
                    rows = folder.plain("rows.csv", norms("H200-SXM", 20));
  EXPECT_THAT(line_of(calibrate(CalibrateQuery{})), StartsWith("gpu: is missing"));
  EXPECT_THAT(line_of(calibrate({.gpu = "H300", .data = {five}})), StartsWith("gpu: unknown GPU"));
  EXPECT_THAT(line_of(calibrate({.gpu = "H200-SXM"})), StartsWith("data: is missing"));
  EXPECT_THAT(line_of(calibrate({.gpu = "H200-SXM", .data = {five}})), StartsWith("data: 5 rows"));
  EXPECT_THAT(line_of(calibrate({.gpu = "H200-SXM", .data = {other}})), HasSubstr("rows of L4, not of H200-SXM"));
  EXPECT_THAT(line_of(calibrate({.gpu = "H200-SXM", .data = {"/nowhere.csv"}})), HasSubstr("/nowhere.csv"));
  EXPECT_THAT(line_of(calibrate({.gpu = "H200-SXM", .data = {rows}, .judge = other})), HasSubstr("not of H200-SXM"));
  EXPECT_THAT(line_of(calibrate({.gpu = "H200-SXM", .data = {rows}, .weights = five})), HasSubstr("five.csv"));
}

TEST(CalibrateApi, Arguments) {
  expect_round_trip(CalibrateQuery{.gpu = "H200-SXM", .data = {"a", "b"}, .judge = "c", .weights = "d"});
  expect_examples_taken<CalibrateQuery>();
}

}  // namespace
}  // namespace tilecast
