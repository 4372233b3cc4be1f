// `tilecast plan serve` through the real binary.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/cli_testing.h"

namespace tilecast {
namespace {

using testing::HasSubstr;

TEST(PlanCommandTest, NamesTheCheapestAndHowToStartIt) {
  const std::string command =
      "plan serve Llama-3.1-8B --slo ttft=500ms,tpot=30ms --rate 20 --gpus H100-SXM,L40S --requests 300 "
      "--price H100-SXM=2.5,L40S=0.9";
  const Ran ran = run_tilecast(command);
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const char* words : {"cost against latency", "simulated, cheapest first", "cheapest:", "margin: TTFT p90",
                            "gives way first", "start each replica with"})
    EXPECT_THAT(ran.out, HasSubstr(words));
  const auto json = nlohmann::json::parse(run_tilecast(command + " --json").out);
  EXPECT_GE(json["best"]["met"], 0.9);
  EXPECT_LE(json["best"]["ttft_p90_ms"], 500);
  EXPECT_GT(json["candidates"], 20);
}

TEST(PlanCommandTest, RefusesInOneLine) {
  const std::pair<const char*, const char*> cases[] = {{"--slo x --rate 1", "--slo"},
                                                       {"--slo tpot=30ms --rate 0", "--rate"},
                                                       {"--slo tpot=30ms --rate 1 --gpus H1000", "H1000"},
                                                       {"--slo tpot=30ms --rate 1 --engines x", "--engine"},
                                                       {"--slo tpot=30ms --rate 1 --price H100-SXM", "--price"},
                                                       {"--slo tpot=30ms --rate 1 --quantile 2", "--quantile"},
                                                       {"--slo tpot=30ms --rate 1 --input 0", "--input"},
                                                       {"--rate 1", "--slo"}};
  for (const auto& [flags, words] : cases) {
    const Ran ran = run_tilecast(std::string("plan serve Llama-3.1-8B ") + flags);
    EXPECT_EQ(ran.code, 2) << flags;
    EXPECT_THAT(ran.err, HasSubstr(words)) << flags;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  }
  EXPECT_THAT(run_tilecast("plan serve Llama-3.1-8B --slo tpot=10us --rate 1 --gpus L40S").out,
              HasSubstr("nothing within reach"));
}

}  // namespace
}  // namespace tilecast
