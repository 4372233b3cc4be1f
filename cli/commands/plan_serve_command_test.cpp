// `tilecast plan serve` through the real binary.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/cli_testing.h"

namespace tilecast {
namespace {

using Json = nlohmann::json;

const std::string kSmall =
    "plan serve Llama-3.2-1B --slo ttft=200ms,tpot=8ms --rate 100 --output 128 --gpus H100-SXM,4xA100-SXM-80GB "
    "--engine vllm,sglang --dtype bf16 --num-prompts 300 ";

TEST(PlanServeCli, TextSaysWhatItCostsBreaksAndStarts) {
  const Ran run = run_tilecast(kSmall);
  ASSERT_EQ(run.code, 0) << run.err;
  for (const char* part : {"Llama-3.2-1B, 100 requests/s, input 1024, output 128: TTFT 200 ms, TPOT 8.00 ms (p90)",
                           "deployments tried", "$/h", "cheapest: ", "an hour", "margin: TTFT ", "to spare",
                           "breaks first: T", "price: ", "start it with (", "meta-llama/Llama-3.2-1B"})
    EXPECT_NE(run.out.find(part), std::string::npos) << part << "\n" << run.out;
  EXPECT_EQ(run.out, run_tilecast(kSmall).out);  // nothing depends on time or chance
}

TEST(PlanServeCli, JsonAddsUp) {
  const Ran run = run_tilecast(kSmall + "--price 2 --json");
  ASSERT_EQ(run.code, 0) << run.err;
  const Json plan = Json::parse(run.out);
  EXPECT_GT(plan["tried"].get<int>(), 50);
  const Json& best = plan["best"];
  EXPECT_EQ(best["usd_per_hour"].get<double>(), 2.0 * best["gpus"].get<int>());
  EXPECT_NEAR(best["usd_per_million_output_tokens"].get<double>(),
              best["usd_per_hour"].get<double>() / (100 * 128 * 3600 / 1e6), 1e-9);
  EXPECT_LE(best["simulated"]["ttft_ms"].get<double>(), 200);
  EXPECT_LE(best["simulated"]["tpot_ms"].get<double>(), 8);
  EXPECT_TRUE(best["simulated"]["meets"].get<bool>());
  EXPECT_GT(plan["breaks"]["rate"].get<double>(), 100);
  ASSERT_FALSE(plan["front"].empty());
  EXPECT_EQ(plan["front"][0]["usd_per_hour"], best["usd_per_hour"]);
  // The command has exactly the plan's limits.
  const std::string limit = best["engine"] == "vllm" ? "--max-num-seqs " : "--max-running-requests ";
  const std::string launch = plan["launch"].dump();
  EXPECT_NE(launch.find(limit + best["pool"]["max_num_seqs"].dump()), std::string::npos) << launch;
}

TEST(PlanServeCli, PoolsApart) {
  const Ran run = run_tilecast(kSmall + "--disaggregated --json");
  ASSERT_EQ(run.code, 0) << run.err;
  const Json plan = Json::parse(run.out);
  ASSERT_TRUE(plan.contains("best")) << run.out;
  const Json& best = plan["best"];
  EXPECT_EQ(best["gpus"].get<int>(), best["pool"]["gpus"].get<int>() + best["prefill_pool"]["gpus"].get<int>());
}

TEST(PlanServeCli, NoneMeets) {
  const Ran run = run_tilecast("plan serve Llama-3.2-1B --slo ttft=1us --rate 5 --gpus 2xH100-SXM --engine vllm");
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("none meets the objectives; nearest by steady state"), std::string::npos) << run.err;
  const Ran large = run_tilecast("plan serve Llama-3.1-405B --slo ttft=1s --rate 5 --gpus RTX-4090 --engine vllm");
  EXPECT_NE(large.err.find("does not fit any of the GPUs"), std::string::npos) << large.err;
  const Ran dear = run_tilecast("plan serve Llama-3.2-1B --slo ttft=1s --rate 5 --gpus H100-SXM --budget 1");
  EXPECT_NE(dear.err.find("allows no copy of the model"), std::string::npos) << dear.err;
}

TEST(PlanServeCli, BadInputIsOneLine) {
  const std::string fine = "plan serve Llama-3.2-1B --slo ttft=1s --rate 5 --gpus H100-SXM ";
  const auto problem = [](const std::string& arguments) {
    const Ran run = run_tilecast(arguments);
    EXPECT_NE(run.code, 0) << arguments;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    return run.err;
  };
  const auto expect = [&](const std::string& arguments, const char* part) {
    const std::string line = problem(arguments);
    EXPECT_NE(line.find(part), std::string::npos) << line;
  };
  expect("plan serve Llama-3.2-1B --slo ttft=1s", "--rate");
  expect("plan serve Llama-3.2-1B --rate 5", "--slo");
  expect("plan serve Llama-3.2-1B --slo ttft=1s --rate 0", "--rate");
  expect("plan serve Llama-3.2-1B --slo ttft=1s --rate nan", "--rate");
  expect("plan serve Llama-3.2-1B --slo speed=1 --rate 5", "'speed=1' is no objective");
  expect("plan serve BERT-Base --slo ttft=1s --rate 5", "does not generate");
  expect("plan serve Lama-3 --slo ttft=1s --rate 5", "Llama-3");
  expect(fine + "--slo-at p42", "--slo-at");
  expect(fine + "--engine pytorch", "does not serve");
  expect(fine + "--dtype fp7", "fp7");
  expect(fine + "--input 0", "--input");
  expect(fine + "--budget -1", "--budget");
  expect(fine + "--price inf", "--price");
  expect(fine + "--aggregated --disaggregated", "exclude each other");
  expect(fine + "--prefixes -2", "prefixes");
  expect("plan serve Llama-3.2-1B --slo ttft=1s --rate 5 --gpus 0xH100-SXM", "1 to 4096");
  expect("plan serve Llama-3.2-1B --slo ttft=1s --rate 5 --gpus V100-SXM", "no price of V100-SXM");
  expect("plan serve Llama-3.2-1B --slo ttft=1s --rate 5 --gpus H1000", "H100");
  expect(fine + "--prices /nowhere.csv", "/nowhere.csv");
  expect(fine + "--input 1000000", "1000000 + 256 tokens are more than the context of Llama-3.2-1B");
  expect(fine + "--max-model-len 1000", "more than max-model-len, 1000");
  expect(fine + "--budget nan", "--budget");
  expect(fine + "--num-prompts -1", "--num-prompts");
}

}  // namespace
}  // namespace tilecast
