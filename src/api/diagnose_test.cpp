#include "tilecast/diagnose.h"

#include "api/arguments_testing.h"
#include "support/test_files.h"

namespace tilecast {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const char* const kTrace = R"({"deviceProperties": [{"name": "NVIDIA H200"}], "traceEvents": [
 {"ph":"X","cat":"cpu_op","name":"aten::mm","ts":0,"dur":9,"args":{"External id":1,"Input Dims":[[512,4096],[4096,6144]],"Input type":["c10::BFloat16","c10::BFloat16"]}},
 {"ph":"X","cat":"kernel","name":"nvjet_sm90_tst_192x128","ts":10,"dur":80,"args":{"External id":1,"correlation":1}},
 {"ph":"X","cat":"kernel","name":"mystery","ts":95,"dur":20,"args":{"correlation":2}}]})";

TEST(DiagnoseApi, ATraceByHand) {
  const TestFolder folder;
  const auto report = diagnose({.trace = folder.plain("trace.json", kTrace)});
  ASSERT_TRUE(report.ok()) << report.error().line();
  EXPECT_EQ(report->gpu, "H200-SXM");
  EXPECT_EQ(report->recorded_on, "NVIDIA H200");
  EXPECT_NEAR(in_microseconds(report->total), 100, 1e-9);
  EXPECT_NEAR(in_microseconds(report->recognised), 80, 1e-9);
  EXPECT_NEAR(in_microseconds(report->compared), 80, 1e-9);
  ASSERT_EQ(report->work.size(), 2u);

  const RecordedWork& product = report->work[0];
  EXPECT_EQ(product.family, "gemm");
  EXPECT_EQ(product.library, "cuBLAS");
  EXPECT_EQ(product.calls, 1);
  EXPECT_NEAR(in_microseconds(product.per_call), 80, 1e-9);
  ASSERT_TRUE(product.forecast);
  EXPECT_EQ(product.forecast->family, "gemm");
  EXPECT_EQ(product.forecast->dtype, "bf16");
  EXPECT_EQ(product.forecast->shape_from, ShapeOrigin::operator_dims);
  EXPECT_EQ(product.forecast->dims, (Dims{{"m", "512"}, {"n", "6144"}, {"k", "4096"}}));
  EXPECT_LE(product.forecast->bound, product.forecast->ceiling);
  EXPECT_LE(product.forecast->ceiling, product.forecast->forecast);
  EXPECT_NEAR(in_microseconds(product.above_ceiling), 80 - in_microseconds(product.forecast->ceiling), 1e-6);
  EXPECT_TRUE(product.underperforms);
  // No faster than the tensor pipe at its highest clock.
  EXPECT_GT(in_microseconds(product.forecast->bound), 2 * 512 * 6144.0 * 4096 / 1100e6);

  EXPECT_FALSE(report->work[1].recognised());
  EXPECT_EQ(report->work[1].full_name, "mystery");
  EXPECT_FALSE(report->work[1].forecast);
  ASSERT_EQ(report->devices.size(), 1u);
  EXPECT_NEAR(in_microseconds(report->devices[0].window), 105, 1e-9);
  EXPECT_NEAR(in_microseconds(report->devices[0].idle), 5, 1e-9);
  Seconds families;
  for (const FamilyTime& family : report->families) families += family.total;
  EXPECT_NEAR(in_microseconds(families), 100, 1e-9);
  EXPECT_FALSE(report->families.empty());
}

// The kernel question gives the same figures for the shape that was read.
TEST(DiagnoseApi, ForecastsAsTheKernelQuestionDoes) {
  const TestFolder folder;
  const auto report = diagnose({.trace = folder.plain("trace.json", kTrace)});
  ASSERT_TRUE(report.ok());
  const WorkForecast& read = *report->work[0].forecast;
  const auto kernel = forecast({.family = read.family, .dims = read.dims, .gpu = "H200-SXM", .dtype = read.dtype});
  ASSERT_TRUE(kernel.ok()) << kernel.error().line();
  EXPECT_NEAR(read.bound / kernel->bound, 1, 0.05);
  EXPECT_NEAR(read.forecast / kernel->latency, 1, 0.5) << "launched by PyTorch, not by whoever was measured most";
}

TEST(DiagnoseApi, AnotherCard) {
  const TestFolder folder;
  const std::string trace = folder.plain("trace.json", kTrace);
  const auto other = diagnose({.trace = trace, .gpu = "H100-SXM"});
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->gpu, "H100-SXM");
  EXPECT_THAT(other->notes, testing::Contains(HasSubstr("recorded on H200-SXM")));
  const auto described = diagnose({.trace = trace, .gpu = R"({"like": "H200-SXM", "name": "mine"})"});
  ASSERT_TRUE(described.ok()) << described.error().line();
  EXPECT_EQ(described->gpu, "mine");
}

TEST(DiagnoseApi, ErrorsNameWhatIsWrong) {
  const TestFolder folder;
  const std::string trace = folder.plain("trace.json", kTrace);
  const std::string unnamed =
      folder.plain("unnamed.json", R"({"traceEvents": [{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":1}]})");
  EXPECT_THAT(line_of(diagnose({})), StartsWith("trace: is missing"));
  EXPECT_THAT(line_of(diagnose({.trace = "/nowhere.json"})), HasSubstr("no such file"));
  EXPECT_THAT(line_of(diagnose({.trace = trace, .gpu = "H300"})), StartsWith("gpu: unknown GPU"));
  EXPECT_THAT(line_of(diagnose({.trace = unnamed})), StartsWith("gpu: is missing"));
  EXPECT_THAT(line_of(diagnose({.trace = trace, .weights = trace})), HasSubstr("trace.json"));
}

TEST(DiagnoseApi, Arguments) {
  expect_round_trip(DiagnoseQuery{.trace = "a.json", .gpu = "H200-SXM", .weights = "w"});
  expect_examples_taken<DiagnoseQuery>();
}

}  // namespace
}  // namespace tilecast
