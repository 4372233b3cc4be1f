#include "tilecast/retime.h"

#include <nlohmann/json.hpp>

#include "api/arguments_testing.h"
#include "support/file.h"
#include "support/test_files.h"
#include "tilecast/collective.h"

namespace tilecast {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// A product, an all-reduce on a stream of its own that waits for it, and a kernel nobody knows; the host waits for all.
const char* const kTrace = R"({"deviceProperties": [{"name": "NVIDIA H100 80GB HBM3"}], "traceEvents": [
 {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":9,"ts":0,"dur":9,"args":{"External id":1,"Input Dims":[[4096,4096],[4096,6144]],"Input type":["c10::BFloat16","c10::BFloat16"]}},
 {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":2,"dur":4,"args":{"correlation":1,"External id":1}},
 {"ph":"s","id":1,"pid":9,"tid":9,"ts":2,"cat":"ac2g","name":"ac2g"},
 {"ph":"X","cat":"kernel","name":"nvjet_sm90_tst_192x128","pid":0,"tid":7,"ts":10,"dur":300,"args":{"External id":1,"correlation":1,"device":0,"stream":7}},
 {"ph":"f","id":1,"pid":0,"tid":7,"ts":10,"cat":"ac2g","name":"ac2g","bp":"e"},
 {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":12,"dur":4,"args":{"correlation":2}},
 {"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_bf16_RING_LL","pid":0,"tid":20,"ts":312,"dur":400,"args":{"correlation":2,"device":0,"stream":20,"Collective name":"allreduce","In msg nelems":33554432,"Out msg nelems":33554432,"Group size":8,"dtype":"BFloat16","Process Group Ranks":"[0, 1, 2, 3, 4, 5, 6, 7]"}},
 {"ph":"X","cat":"gpu_user_annotation","name":"step","pid":0,"tid":20,"ts":311,"dur":402,"args":{}},
 {"ph":"X","cat":"kernel","name":"mystery","pid":0,"tid":7,"ts":320,"dur":20,"args":{"device":0,"stream":7}},
 {"ph":"X","cat":"cuda_runtime","name":"cudaDeviceSynchronize","pid":9,"tid":9,"ts":20,"dur":700,"args":{"correlation":3}},
 {"ph":"X","cat":"cpu_op","name":"aten::next","pid":9,"tid":9,"ts":725,"dur":5,"args":{}}],
 "traceName": "t"})";

nlohmann::json event_of(const nlohmann::json& trace, const std::string& name) {
  for (const auto& event : trace["traceEvents"])
    if (event["name"] == name) return event;
  return {};
}

TEST(RetimeApi, ATraceByHand) {
  const TestFolder folder;
  const auto report = retime({.trace = folder.plain("trace.json", kTrace), .gpu = "B200", .output = folder.file("b.json")});
  ASSERT_TRUE(report.ok()) << report.error().line();
  EXPECT_EQ(report->from, "H100-SXM");
  EXPECT_EQ(report->gpu, "B200");
  ASSERT_EQ(report->work.size(), 3u);
  const RetimedWork &reduce = report->work[0], &product = report->work[1], &mystery = report->work[2];
  EXPECT_EQ(reduce.basis, RetimeBasis::collective);
  EXPECT_EQ(product.basis, RetimeBasis::shape);
  EXPECT_EQ(product.dims, (Dims{{"m", "4096"}, {"n", "6144"}, {"k", "4096"}}));
  EXPECT_LT(product.ratio(), 0.7);
  EXPECT_LE(product.interval.low, product.retimed);
  EXPECT_GE(product.interval.high, product.retimed);
  EXPECT_EQ(mystery.basis, RetimeBasis::recorded);
  EXPECT_EQ(mystery.kept_because, "not recognised");
  EXPECT_NEAR(in_microseconds(report->not_recognised), 20, 1e-9);
  EXPECT_NEAR(in_microseconds(report->recorded), 720, 1e-9);
  Seconds limits, bases;
  for (const LimitShare& limit : report->limits) limits += limit.time;
  for (const Seconds part : report->by_basis) bases += part;
  EXPECT_NEAR(limits / report->retimed, 1, 1e-12);
  EXPECT_NEAR(bases / report->recorded, 1, 1e-12);

  // The product ends earlier, the all-reduce follows it, and the host follows the all-reduce.
  const auto written = nlohmann::json::parse(folder.content("b.json"));
  const auto gemm = event_of(written, "nvjet_sm90_tst_192x128"), sum = event_of(written, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL");
  EXPECT_EQ(gemm["ts"], 10);
  EXPECT_NEAR(gemm["dur"].get<double>(), in_microseconds(product.retimed), 1e-3);
  const double product_end = 10 + gemm["dur"].get<double>();
  EXPECT_NEAR(sum["ts"].get<double>(), product_end + 2, 1e-3);
  EXPECT_NEAR(sum["dur"].get<double>(), in_microseconds(reduce.retimed), 1e-3);
  const double sum_end = sum["ts"].get<double>() + sum["dur"].get<double>();
  const auto wait = event_of(written, "cudaDeviceSynchronize");
  EXPECT_EQ(wait["ts"], 20);
  EXPECT_NEAR(wait["dur"].get<double>(), sum_end + 8 - 20, 2e-3);
  EXPECT_NEAR(event_of(written, "aten::next")["ts"].get<double>(), sum_end + 13, 2e-3);
  EXPECT_EQ(event_of(written, "aten::next")["dur"], 5);
  EXPECT_EQ(event_of(written, "aten::mm")["dur"], 9);
  const auto mark = event_of(written, "step");
  EXPECT_NEAR(mark["ts"].get<double>(), sum["ts"].get<double>() - 1, 1e-3);
  EXPECT_NEAR(mark["ts"].get<double>() + mark["dur"].get<double>(), sum_end + 1, 2e-3);
  EXPECT_EQ(written["traceName"], "t");
  ASSERT_EQ(report->devices.size(), 1u);
  EXPECT_NEAR(in_microseconds(report->devices[0].recorded.window), 702, 1e-9);
  EXPECT_NEAR(in_microseconds(report->devices[0].retimed.window), sum_end - 10, 2e-3);
}

// Over two nodes the same sum takes as many times longer as the forecast of the collective says.
TEST(RetimeApi, AnotherCluster) {
  const TestFolder folder;
  const std::string trace = folder.plain("trace.json", kTrace);
  const auto one = forecast(CollectiveQuery{.op = "all_reduce", .bytes = bytes(67108864), .cluster = "hgx-h100", .ranks = 8});
  const auto report = retime({.trace = trace, .from_cluster = "hgx-h100", .cluster = "hgx-h200"});
  const auto other = forecast(CollectiveQuery{.op = "all_reduce", .bytes = bytes(67108864), .cluster = "hgx-h200", .ranks = 8});
  ASSERT_TRUE(report.ok()) << report.error().line();
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_EQ(report->gpu, "H200-SXM");
  EXPECT_NEAR(report->work[0].ratio(), other->latency / one->latency, 1e-9);
  const auto same = retime({.trace = trace, .gpu = "H100-SXM"});
  ASSERT_TRUE(same.ok());
  for (const RetimedWork& work : same->work) EXPECT_EQ(work.retimed, work.recorded);
  EXPECT_EQ(same->interval.low, same->recorded);
  EXPECT_EQ(same->devices[0].retimed.window, same->devices[0].recorded.window);
}

TEST(RetimeApi, ErrorsNameWhatIsWrong) {
  const TestFolder folder;
  const std::string trace = folder.plain("trace.json", kTrace);
  const std::string table = folder.plain("t.csv", "name,duration_us\nnvjet_x,5\n");
  const std::string cut = folder.plain("cut.json", std::string(kTrace).substr(0, 900));
  EXPECT_THAT(line_of(retime({})), StartsWith("trace: is missing"));
  EXPECT_THAT(line_of(retime({.trace = trace})), StartsWith("gpu: is missing"));
  EXPECT_THAT(line_of(retime({.trace = trace, .gpu = "H300"})), StartsWith("gpu: unknown GPU"));
  EXPECT_THAT(line_of(retime({.trace = trace, .from = "H300", .gpu = "B200"})), StartsWith("from: unknown GPU"));
  EXPECT_THAT(line_of(retime({.trace = trace, .gpu = "B200", .cluster = "hgx-h100"})), StartsWith("cluster: joins"));
  EXPECT_THAT(line_of(retime({.trace = trace, .gpu = "B200", .cluster = "nowhere"})), StartsWith("cluster"));
  EXPECT_THAT(line_of(retime({.trace = table, .gpu = "B200"})), StartsWith("from: is missing"));
  EXPECT_THAT(line_of(retime({.trace = table, .from = "H100-SXM", .gpu = "B200", .output = folder.file("x.json")})),
              StartsWith("output: only a PyTorch"));
  EXPECT_THAT(line_of(retime({.trace = cut, .gpu = "B200", .output = folder.file("x.json")})), HasSubstr("ends too early"));
  EXPECT_THAT(line_of(retime({.trace = trace, .gpu = "B200", .output = "/nowhere/x.json"})), HasSubstr("/nowhere"));
  EXPECT_EQ(folder.files(), 3u) << "nothing half written";
  const auto sums = retime({.trace = table, .from = "H100-SXM", .gpu = "B200"});
  ASSERT_TRUE(sums.ok()) << sums.error().line();
  EXPECT_EQ(sums->work.size(), 1u);
}

TEST(RetimeApi, Arguments) {
  expect_round_trip(RetimeQuery{.trace = "a.json", .from = "H100-SXM", .gpu = "B200", .from_cluster = "hgx-h100",
                                .cluster = "hgx-b200", .weights = "w", .output = "b.json"});
  expect_examples_taken<RetimeQuery>();
}

}  // namespace
}  // namespace tilecast
