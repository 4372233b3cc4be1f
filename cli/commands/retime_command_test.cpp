#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/cli_testing.h"
#include "test_paths.h"

namespace tilecast {
namespace {

using testing::HasSubstr;

const std::string kEager = TILECAST_SOURCE_DIR "/data/measurements/traces/h200_eager.json.gz";

TEST(RetimeCommand, ReportsAsTextJsonAndTrace) {
  const std::string out = scratch_path("b200.json.gz");
  const Ran text = run_tilecast("retime " + kEager + " --from H200 --gpu B200 --top 3 --output " + out);
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("from H200-SXM to B200"));
  EXPECT_THAT(text.out, HasSubstr("Kernels by recorded time"));
  EXPECT_THAT(text.out, HasSubstr("stays as recorded"));
  const Ran again = run_tilecast("diagnose " + out + " --gpu B200 --json");
  ASSERT_EQ(again.code, 0) << again.err;
  const Ran ran = run_tilecast("retime " + kEager + " --gpu B200 --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out), written = nlohmann::json::parse(again.out);
  EXPECT_EQ(json["from"], "H200-SXM");
  EXPECT_LT(json["retimed_us"].get<double>(), json["recorded_us"].get<double>());
  EXPECT_NEAR(written["total_us"].get<double>() / json["retimed_us"].get<double>(), 1, 1e-3);
  double limits = 0, bases = 0;
  for (const auto& share : json["limited_by_share"]) limits += share.get<double>();
  for (const auto& share : json["basis_share"]) bases += share.get<double>();
  EXPECT_NEAR(limits, 1, 1e-9);
  EXPECT_NEAR(bases, 1, 1e-9);
  EXPECT_LT(json["devices"][0]["retimed"]["busy_us"].get<double>(),
            json["devices"][0]["recorded"]["busy_us"].get<double>());
}

// A command line that names its input as its output, by a slip or by a shell's history.
TEST(RetimeCommand, TheRecordingIsKept) {
  const std::string trace = scratch_path("only.json.gz"), was = file_text(kEager);
  std::ofstream(trace, std::ios::binary) << was;
  for (const std::string& command :
       {"retime " + trace + " --gpu B200 --output " + trace, "diagnose " + trace + " --html " + trace,
        "calibrate --gpu H200 --data " + trace + " -o " + trace,
        "simulate gpt2 --gpu H100-SXM --trace " + trace + " --requests " + trace,
        "predict " + trace + " --gpu H100-SXM --seq 8 --trace " + trace}) {
    EXPECT_EQ(run_tilecast(command).code, 2) << command;
    EXPECT_TRUE(file_text(trace) == was) << command;
  }
  EXPECT_THAT(run_tilecast("retime " + trace + " --gpu B200 --output " + trace).err, HasSubstr("would be lost"));
}

TEST(RetimeCommand, WrongUseIsOneLine) {
  for (const auto& [command, said] : {std::pair("retime " + kEager, "--gpu"),
                                      {"retime " + kEager + " --gpu B200 --top 0", "--top"},
                                      {"retime /nowhere.json --gpu B200", "no such file"}}) {
    const Ran ran = run_tilecast(command);
    EXPECT_NE(ran.code, 0) << command;
    EXPECT_THAT(ran.err, HasSubstr(said));
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  }
}

}  // namespace
}  // namespace tilecast
