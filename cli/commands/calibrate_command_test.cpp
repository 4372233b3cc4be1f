// `tilecast calibrate` through the real binary, with the minute that was measured on an H200.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/cli_testing.h"
#include "support/test_files.h"
#include "test_paths.h"

namespace tilecast {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::string kMinute = TILECAST_SOURCE_DIR "/data/measurements/h200_quick.csv.gz";
constexpr std::string_view kHeader =
    "gpu,source,engine,engine_version,kernel_source,family,dtype,dims,runtime,warmth,latency_us\n";

double latency_of(const std::string& gpu) {
  const Ran ran = run_tilecast("kernel rmsnorm --rows 4096 --cols 4096 --engine pytorch --gpu " + gpu + " --json");
  EXPECT_EQ(ran.code, 0) << ran.err;
  return json::parse(ran.out)[0]["latency_us"];
}

TEST(CalibrateCommand, WritesACardThatEveryCommandTakes) {
  const TestFolder folder;
  const std::string mine = folder.file("mine.json");
  const Ran ran = run_tilecast("calibrate --gpu H100-SXM --data " + folder.plain("rows.csv", [] {
    std::string text(kHeader);
    for (int m = 1; m <= 60; ++m)
      text +=
          fmt::format("H100-SXM,s,pytorch,1,torch,rmsnorm,bf16,rows={};cols=4096,graph,warm,{}\n", 64 * m, 3 + 0.7 * m);
    return text;
  }()) + " -o " + mine);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("60 measured rows"));
  EXPECT_THAT(ran.out, HasSubstr("What they say of the card"));
  EXPECT_THAT(ran.out, HasSubstr("rmsnorm/bf16"));
  EXPECT_NEAR(latency_of(mine), 3 + 0.7 * 64, 6) << "what was measured next to it";
  EXPECT_LT(latency_of("H100-SXM"), 36);
  const Ran kernel = run_tilecast("kernel rmsnorm --rows 4096 --cols 4096 --gpu " + mine + " --json");
  EXPECT_EQ(json::parse(kernel.out)[0]["seen"], "calibrated");
  const Ran step = run_tilecast("predict Qwen3-0.6B --mode decode --batch 4 --context 512 --gpu " + mine);
  EXPECT_EQ(step.code, 0) << step.err;
  // A calibrated card may be calibrated again, from its file.
  EXPECT_EQ(run_tilecast("calibrate --gpu " + mine + " --data " + folder.file("rows.csv") + " -o " + mine).code, 0);
}

// A card's own file may bear any name; rows that bear it too are the card's, and no others beside them.
TEST(CalibrateCommand, TakesRowsOfOneCard) {
  const TestFolder folder;
  const auto rows = [](const char* gpu, double us) {
    std::string text;
    for (int m = 1; m <= 30; ++m)
      text += fmt::format("{},s,vllm,1,k,gemm,bf16,m={};n=2048;k=2048,graph,warm,{}\n", gpu, 16 * m, us + m);
    return text;
  };
  const std::string mine = folder.plain("mine.json", R"({"like": "H100-SXM", "name": "mine"})");
  const auto calibrate = [&](const std::string& table) {
    return run_tilecast("calibrate --json --gpu " + mine + " --data " +
                        folder.plain("rows.csv", std::string(kHeader) + table) + " -o " + folder.file("out.json"));
  };
  EXPECT_EQ(json::parse(calibrate(rows("mine", 10) + rows("A100-SXM-80GB", 90)).out)["rows"], 30);
  EXPECT_EQ(json::parse(calibrate(rows("H100-SXM", 10)).out)["rows"], 30) << "the model's name will do";
  EXPECT_THAT(calibrate(rows("H100-SXM", 10) + rows("A100-SXM-80GB", 90)).err,
              HasSubstr("rows of A100-SXM-80GB, H100-SXM, not of mine"));
}

TEST(CalibrateCommand, AMinuteOnAnH200) {
  const TestFolder folder;
  const Ran ran =
      run_tilecast("calibrate --gpu H200-SXM --data " + kMinute + " -o " + folder.file("mine.json") + " --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json result = json::parse(ran.out);
  EXPECT_EQ(result["rows"], 1437) << "of 1572, those that a graph launched";
  EXPECT_LT(result["error_after"], result["error_before"]);
}

TEST(CalibrateCommand, RefusesWhatSaysNothing) {
  const TestFolder folder;
  std::string five(kHeader), other(kHeader);
  for (int m = 1; m <= 5; ++m) five += fmt::format("H200-SXM,s,vllm,1,k,gemm,bf16,m={};n=512;k=512,graph,warm,5\n", m);
  for (int m = 1; m <= 20; ++m)
    other += fmt::format("A100-SXM-80GB,s,vllm,1,k,gemm,bf16,m={};n=512;k=512,graph,warm,5\n", m);
  const auto refused = [&](const std::string& options, const std::string& says) {
    const Ran ran = run_tilecast("calibrate " + options + " -o " + folder.file("out.json"));
    EXPECT_EQ(ran.code, 2) << options;
    EXPECT_THAT(ran.err, HasSubstr(says));
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    EXPECT_FALSE(std::filesystem::exists(folder.file("out.json")));
  };
  const std::string h200 = "--gpu H200-SXM --data ";
  refused(h200 + folder.plain("five.csv", five), "5 rows that can be forecast say nothing");
  refused(h200 + folder.plain("other.csv", other), "rows of A100-SXM-80GB, not of H200-SXM");
  refused(h200 + folder.file("missing.csv"), "missing.csv");
  refused("--gpu H300 --data " + kMinute, "unknown GPU");
  refused(h200 + kMinute + " --judge " + folder.file("other.csv"), "not of H200-SXM");
  refused(h200 + kMinute + " --weights " + folder.file("five.csv"), "five.csv");
  EXPECT_EQ(run_tilecast("calibrate " + h200 + kMinute + " -o /nowhere/out.json").code, 2);
}

}  // namespace
}  // namespace tilecast
