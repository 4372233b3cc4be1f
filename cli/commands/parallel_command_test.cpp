// `tilecast predict --cluster` and `tilecast plan train` through the real binary.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "cli/cli_testing.h"
#include "support/test_files.h"

namespace tilecast {
namespace {

using Json = nlohmann::json;

TEST(ParallelCommand, PartsOfAStepSumToIt) {
  const auto run = run_tilecast(
      "predict Llama-3.1-70B --cluster hgx-h100 --tp 8 --pp 2 --dp 4 --mode train --seq 4096 --micro-batch 1 "
      "--global-batch 128 --sharding zero1 --sequence-parallel --mixed master --json");
  ASSERT_EQ(run.code, 0) << run.err;
  const Json one = Json::parse(run.out).at(0);
  EXPECT_EQ(one["gpus"], 64);
  EXPECT_EQ(one["micro_batches"], 32);
  const double sum = one["compute_ms"].get<double>() + one["bubble_ms"].get<double>() +
                     one["optimizer_ms"].get<double>() + one["exposed_ms"].get<double>();
  EXPECT_NEAR(sum, one["step_ms"].get<double>(), 1e-9 * sum);
  EXPECT_GT(one["bubble_ms"].get<double>(), 0);
  EXPECT_GE(one["step_ms"].get<double>(), one["bound_ms"].get<double>());
  double exposed = 0;
  for (const auto& [name, axis] : one["axes"].items()) {
    exposed += axis["exposed_ms"].get<double>();
    EXPECT_GE(axis["total_ms"].get<double>(), 0) << name;
  }
  EXPECT_NEAR(exposed, one["exposed_ms"].get<double>(), 1e-9 * sum);
  ASSERT_EQ(one["stages"].size(), 2u);
  EXPECT_EQ(one["stages"][0]["layers"].get<int>() + one["stages"][1]["layers"].get<int>(), 80);
}

TEST(ParallelCommand, OneRankIsTheSingleGpuForecast) {
  const std::string what = " --mode train --batch 4 --seq 1024 --engine pytorch --json";
  const auto alone = run_tilecast("predict GPT-2 --gpu H100-SXM" + what);
  const auto spread = run_tilecast("predict GPT-2 --cluster hgx-h100" + what);
  ASSERT_EQ(alone.code, 0) << alone.err;
  ASSERT_EQ(spread.code, 0) << spread.err;
  const double a = Json::parse(alone.out)[0]["step_ms"], b = Json::parse(spread.out)[0]["step_ms"];
  EXPECT_NEAR(a, b, 1e-9 * a);
}

TEST(ParallelCommand, RefusesImpossibleLayoutsInOneLine) {
  for (const auto& [flags, said] : {std::pair("--tp 7", "nearest: tp 4 or 8"),
                                    {"--pp 100", "more than the 32 layers"},
                                    {"--ep 2", "has no experts"},
                                    {"--schedule odd", "1f1b"},
                                    {"--sharding odd", "zero1"}}) {
    const auto run = run_tilecast(
        std::string("predict Llama-3.1-8B --cluster hgx-h100 --mode train --seq 2048 --global-batch 64 ") + flags);
    EXPECT_NE(run.code, 0) << flags;
    EXPECT_NE(run.err.find(said), std::string::npos) << flags << ": " << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
}

constexpr const char* kEightGpus =
    "predict Llama-3.1-8B --cluster hgx-h100 --tp 2 --pp 2 --dp 2 --mode train --seq 4096 --micro-batch 1 "
    "--global-batch 16 --sharding zero1";

TEST(ParallelCommand, DrawsALaneAPipelineRank) {
  const TestFolder folder;
  const auto run = run_tilecast(std::string(kEightGpus) + " --json --trace " + folder.file("step.json"));
  ASSERT_EQ(run.code, 0) << run.err;
  std::set<std::string> lanes, names;
  double end = 0;
  const Json trace = Json::parse(folder.content("step.json"));
  for (const Json& e : trace["traceEvents"]) {
    if (e["name"] == "thread_name") lanes.insert(e["args"]["name"].get<std::string>());
    if (e["ph"] != "X") continue;
    names.insert(e["name"].get<std::string>());
    end = std::max(end, e["ts"].get<double>() + e["dur"].get<double>());
  }
  EXPECT_EQ(lanes,
            (std::set<std::string>{"ranks 0–3", "ranks 0–3 communication", "ranks 4–7", "ranks 4–7 communication"}));
  for (const char* name : {"forward 0", "backward 7", "gradients scatter", "optimizer"})
    EXPECT_TRUE(names.count(name)) << name;
  EXPECT_NEAR(end, 1e3 * Json::parse(run.out)[0]["step_ms"].get<double>(), 1e-6 * end);
  const auto nowhere = run_tilecast(std::string(kEightGpus) + " --trace " + folder.file("no/such/step.json"));
  EXPECT_NE(nowhere.code, 0);
  EXPECT_EQ(std::count(nowhere.err.begin(), nowhere.err.end(), '\n'), 1) << nowhere.err;
}

TEST(ParallelCommand, ExportsEveryRanksStep) {
  const TestFolder folder;
  const std::string out = folder.file("traces");
  const auto run = run_tilecast(std::string(kEightGpus) + " --export-chakra " + out);
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("Wrote " + out + "/step.0.et to step.7.et and " + out + "/step.json"), std::string::npos)
      << run.out;
  // Tensor parallel ranks are neighbours, data parallel ones two apart, stages four.
  EXPECT_EQ(Json::parse(folder.content("traces/step.json")),
            Json::parse(R"({"1":[0,1],"2":[2,3],"3":[4,5],"4":[6,7],"5":[0,2],"6":[1,3],"7":[4,6],"8":[5,7]})"));
  EXPECT_NE(folder.content("traces/network.yml").find("npus_count: [ 4, 2 ]"), std::string::npos);
  for (const char* name : {"system.json", "memory.json", "run.sh"})
    EXPECT_GT(folder.content(std::string("traces/") + name).size(), 20u) << name;
  for (int rank = 0; rank < 8; ++rank)
    EXPECT_GT(folder.content("traces/step." + std::to_string(rank) + ".et").size(), 10'000u) << rank;
}

TEST(ParallelCommand, RefusesToExportInOneLine) {
  const TestFolder folder;
  const std::string model = "predict Llama-3.1-8B --cluster hgx-h100 --seq 128 --export-chakra ";
  for (const auto& [command, said] :
       {std::pair(model + folder.file("a"), "a step of one GPU exchanges nothing"),
        {model + folder.plain("file", "") + " --tp 2", "cannot be made a folder"},
        {model + folder.file("a") + " --tp 2 --dtype bf16,fp8", "give one cluster, one engine and one dtype"},
        {"predict Llama-3.1-8B --gpu H100-SXM --seq 128 --export-chakra " + folder.file("a"), "of one GPU"}}) {
    const auto run = run_tilecast(command);
    EXPECT_NE(run.code, 0) << command;
    EXPECT_NE(run.err.find(said), std::string::npos) << command << ": " << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
}

TEST(ParallelCommand, PlansATraining) {
  const TestFolder folder;
  const std::string prices = folder.plain("prices.csv", "gpu,usd_per_hour\nH100-SXM,2\n");
  const auto run =
      run_tilecast("plan train Llama-3.1-8B --gpus 16xH100-SXM --global-batch 64 --seq 4096 --tokens 1e9 " +
                   ("--prices " + prices) + " --json");
  ASSERT_EQ(run.code, 0) << run.err;
  const Json plan = Json::parse(run.out);
  EXPECT_GT(plan["fit"].get<int>(), 5);
  const double rate = plan["ranked"][0]["tokens_per_second"];
  const double useful = plan["gpu_hours"].get<double>() * plan["goodput"].get<double>();
  EXPECT_NEAR(useful, 1e9 / rate / 3600 * 16, 1e-6 * useful);
  EXPECT_NEAR(plan["usd"].get<double>(), 2 * plan["gpu_hours"].get<double>(), 1e-6 * plan["usd"].get<double>());
}

TEST(ParallelCommand, AsksForWhatIsMissing) {
  EXPECT_NE(run_tilecast("plan train Llama-3.1-8B --gpus hgx-h1 --global-batch 8 --seq 128").err.find("HGX-H100"),
            std::string::npos);
  EXPECT_NE(run_tilecast("predict Llama-3.1-8B --tp 2 --seq 128").err.find("--cluster"), std::string::npos);
}

}  // namespace
}  // namespace tilecast
