#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <nlohmann/json.hpp>

#include "cli/cli_testing.h"
#include "support/test_share.h"
#include "test_paths.h"

namespace tilecast {
namespace {

using testing::HasSubstr;
using testing::Not;

const char* const kTrace = R"({"deviceProperties": [{"name": "NVIDIA H200"}], "traceEvents": [
 {"ph":"X","cat":"cpu_op","name":"aten::mm","ts":0,"dur":9,"args":{"External id":1,"Input Dims":[[512,4096],[4096,6144]],"Input type":["c10::BFloat16","c10::BFloat16"]}},
 {"ph":"X","cat":"kernel","name":"nvjet_sm90_tst_192x128","ts":10,"dur":80,"args":{"External id":1,"correlation":1}},
 {"ph":"X","cat":"kernel","name":"<script>alert(1)</script>","ts":95,"dur":20,"args":{"correlation":2}}]})";

std::string trace_file(const std::string& text = kTrace, const char* name = "trace.json") {
  const std::string path = scratch_path(name);
  std::ofstream(path) << text;
  return path;
}

TEST(DiagnoseCommand, ReportsAsTextJsonAndPage) {
  const std::string path = trace_file(), page = scratch_path("page.html");
  const Ran text = run_tilecast("diagnose " + path + " --html " + page);
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("against forecasts for H200-SXM"));
  EXPECT_THAT(text.out, HasSubstr("recognised for 80 %"));
  EXPECT_THAT(text.out, HasSubstr("gemm bf16 m=512 n=6144 k=4096"));
  EXPECT_THAT(text.out, HasSubstr("Not recognised: 1 name,"));

  const std::string html = file_text(page);
  EXPECT_THAT(html, HasSubstr("<svg"));
  EXPECT_THAT(html, Not(HasSubstr("<script")));  // names are text, not markup
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;"));
  for (const char* outside : {"src=", "href=", "@import", "url("}) EXPECT_THAT(html, Not(HasSubstr(outside)));

  const Ran ran = run_tilecast("diagnose " + path + " --json --gpu H100-SXM");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json["gpu"], "H100-SXM");
  EXPECT_THAT(json["notes"].dump(), HasSubstr("recorded on H200-SXM"));
  EXPECT_DOUBLE_EQ(json["total_us"].get<double>(), 100);
  EXPECT_DOUBLE_EQ(json["recognised_share"].get<double>(), 0.8);
  EXPECT_EQ(json["kernels"][0]["forecast"]["dims"]["n"], "6144");
  const double ceiling = json["kernels"][0]["forecast"]["ceiling_us"];
  EXPECT_NEAR(json["kernels"][0]["above_ceiling_us"].get<double>(), 80 - ceiling, 1e-6);
  EXPECT_DOUBLE_EQ(json["devices"][0]["idle_us"].get<double>(), 5);
}

TEST(DiagnoseCommand, WritesItsPlots) {
  const std::string prefix = scratch_path("plot");
  const Ran ran = run_tilecast("diagnose " + trace_file() + " --svg " + prefix);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(file_text(prefix + "_families.svg"), HasSubstr("matrix products"));
  EXPECT_THAT(file_text(prefix + "_ceilings.svg"), HasSubstr(">nvjet_sm90_tst_192x128</text>"));  // named: it lost most
  EXPECT_THAT(file_text(prefix + "_busy.svg"), HasSubstr("105 µs"));
  for (const char* plot : {"_families.svg", "_ceilings.svg", "_busy.svg"})
    EXPECT_THAT(file_text(prefix + plot), testing::AllOf(testing::StartsWith("<svg "), Not(HasSubstr("<script"))));
}

TEST(DiagnoseCommand, AMillionNamesDoNotMakeAGigabyte) {
  const std::string path = scratch_path("names.csv");
  std::ofstream table(path);
  table << "name,duration_us\n";
  for (int i = 0; i < 20010; ++i) table << "n" << i << ',' << 20011 - i << '\n';
  table.close();
  const Ran ran = run_tilecast("diagnose " + path + " --gpu H200 --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json["kernels"].size(), 20000u);
  EXPECT_EQ(json["kernels"][0]["name"], "n0");  // the longest stay
  EXPECT_THAT(json["notes"].dump(), HasSubstr("of 20010"));
}

TEST(DiagnoseCommand, RefusesInOneLine) {
  const std::string path = trace_file();
  for (const auto& [arguments, words] :
       {std::pair<std::string, std::string>{"diagnose /nowhere.json", "no such file"},
        {"diagnose " + path + " --gpu H300", "did you mean"},
        {"diagnose " + path + " --top 0", "--top"},
        {"diagnose " + path + " --html /nowhere/page.html", "/nowhere"},
        {"diagnose " + path + " --svg /nowhere/plot", "/nowhere"},
        {"diagnose " +
             trace_file(R"({"traceEvents": [{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":1}]})", "unnamed.json"),
         "does not name the card"},
        {"diagnose", "TRACE"}}) {
    const Ran ran = run_tilecast(arguments);
    EXPECT_NE(ran.code, 0) << arguments;
    EXPECT_THAT(ran.err, HasSubstr(words)) << arguments;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  }
}

// 100 MB of events through 1/3 of that address space beyond what the program itself takes.
TEST(DiagnoseCommand, StreamsWhatItCannotHold) {
  if (kSanitized) GTEST_SKIP() << "the address sanitizer maps terabytes";
  const std::string path = scratch_path("large.json.gz");
  gzFile out = gzopen(path.c_str(), "wb1");
  gzputs(out, R"({"deviceProperties": [{"name": "NVIDIA H200"}], "traceEvents": [)");
  const std::string filler(900, 'x');
  for (int i = 0; i < 100000; ++i) {
    const std::string event = i % 10 == 0 ? R"({"ph":"X","cat":"kernel","name":"nvjet","ts":)" + std::to_string(i) +
                                                R"(,"dur":5,"args":{"stream":7}},)"
                                          : R"({"ph":"X","cat":"python_function","name":")" + filler +
                                                R"(","ts":1,"dur":1,"args":{"a":")" + filler.substr(0, 200) + "\"}},\n";
    gzwrite(out, event.data(), static_cast<unsigned>(event.size()));
  }
  gzputs(out, R"({"ph":"M"}]})");
  gzclose(out);
  const std::string command =
      "ulimit -v 120000; '" TILECAST_BINARY "' diagnose " + path + " --json > " + scratch_path("large.out") + " 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0) << file_text(scratch_path("large.out")).substr(0, 500);
  const auto json = nlohmann::json::parse(file_text(scratch_path("large.out")));
  EXPECT_EQ(json["kernels"][0]["launches"], 10000);
  EXPECT_NEAR(json["total_us"].get<double>(), 50000, 1e-6);
}

}  // namespace
}  // namespace tilecast
