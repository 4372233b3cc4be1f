// `tilecast simulate` through the real binary.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/cli_testing.h"

namespace tilecast {
namespace {

using testing::HasSubstr;

TEST(SimulateCommand, ShowsWhatAClientMeasures) {
  const Ran ran =
      run_tilecast("simulate Llama-3.1-8B --gpu H100-SXM --rate 10 --num-prompts 60 --slo ttft=1s,tpot=50ms");
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const char* words : {"Llama-3.1-8B on H100-SXM, vllm bf16", "completed 60", "TTFT", "TPOT", "ITL", "E2EL", "p99",
                            "output tokens/s", "goodput", "80 % interval"})
    EXPECT_THAT(ran.out, HasSubstr(words));
}

TEST(SimulateCommand, RepeatsExactly) {
  const std::string command =
      "simulate Qwen3-8B --gpu H100-SXM --engine sglang --rate 20 --num-prompts 80 --input lognormal:300:1 --json";
  const Ran a = run_tilecast(command), b = run_tilecast(command);
  ASSERT_EQ(a.code, 0) << a.err;
  EXPECT_EQ(a.out, b.out);
  EXPECT_NE(a.out, run_tilecast(command + " --seed 1").out);
}

TEST(SimulateCommand, JsonRequestsAndTimelineAgree) {
  const std::string requests = scratch_path("requests.csv"), timeline = scratch_path("timeline.json");
  const Ran ran = run_tilecast(
      "simulate Llama-3.1-8B --gpu H100-SXM --engine trtllm --concurrency 8 --num-prompts 40 --json --requests " +
      requests + " --timeline " + timeline);
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  const auto& load = json["loads"][0];
  EXPECT_EQ(load["metrics"]["completed"], 40);
  EXPECT_EQ(load["metrics"]["total_output_tokens"], 40 * 256);
  EXPECT_LE(load["fast"]["mean_ttft_ms"], load["metrics"]["mean_ttft_ms"]);
  EXPECT_GE(load["slow"]["mean_ttft_ms"], load["metrics"]["mean_ttft_ms"]);
  // All of `vllm bench serve`'s figures, by its names.
  for (const char* figure : {"ttft", "tpot", "itl", "e2el", "queue"})
    for (const char* statistic : {"mean", "median", "p90", "p99"})
      EXPECT_TRUE(load["metrics"][std::string(statistic) + "_" + figure + "_ms"].is_number()) << figure;
  EXPECT_TRUE(load["metrics"]["request_goodput"].is_null());  // no objectives
  const std::string csv = file_text(requests);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 41);
  const auto events = nlohmann::json::parse(file_text(timeline))["traceEvents"];
  std::size_t steps = 0;
  for (const auto& event : events) steps += event["ph"] == "X" && event["pid"] == 1;
  EXPECT_EQ(load["metrics"]["steps"], steps);
  // How busy the GPU is, how full its cache and what it draws, over time in both.
  std::map<std::string, int> counters;
  for (const auto& event : events) counters[event["name"]] += event["ph"] == "C" && event["pid"] == 0;
  for (const char* name : {"GPU busy %", "cache %", "power W"}) EXPECT_EQ(counters[name], 500) << name;
  const auto& slices = load["over_time"];
  ASSERT_EQ(slices.size(), 50u);
  double joules = 0;
  for (const auto& slice : slices) {
    EXPECT_GE(slice["busy"], 0);
    EXPECT_LE(slice["busy"], 1.000001);
    EXPECT_LE(slice["cache"], 1);
    joules += slice["power_w"].get<double>() * load["metrics"]["duration"].get<double>() / 50;
  }
  const auto& energy = load["metrics"]["energy"];
  EXPECT_NEAR(joules / energy["total_j"].get<double>(), 1, 1e-3);
  EXPECT_NEAR(energy["output_token_j"].get<double>() * 40 * 256, energy["total_j"].get<double>(), 1e-3);
  EXPECT_GT(energy["mean_w"], 140);  // at rest
  EXPECT_LE(energy["mean_w"], 700);  // the card's limit
  std::remove(requests.c_str());
  std::remove(timeline.c_str());
}

TEST(SimulateCommand, SweepsLoads) {
  const Ran ran = run_tilecast("simulate Llama-3.1-8B --gpu H100-SXM --sweep rate=2..8*2 --num-prompts 50");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("mean TTFT against rate"));
}

TEST(SimulateCommand, TracesAreSortedOrRefused) {
  const std::string trace = scratch_path("trace.csv");
  std::ofstream(trace) << "arrival,input,output\n1,100,5\n0,100,5\n";
  const Ran sorted = run_tilecast("simulate Llama-3.1-8B --gpu H100-SXM --trace " + trace);
  EXPECT_EQ(sorted.code, 0) << sorted.err;
  EXPECT_THAT(sorted.out, HasSubstr("sorted"));
  std::ofstream(trace) << "arrival,input,output\n0,100,5\n1,-7,5\n";
  const Ran negative = run_tilecast("simulate Llama-3.1-8B --gpu H100-SXM --trace " + trace);
  EXPECT_EQ(negative.code, 2);
  EXPECT_THAT(negative.err, HasSubstr("trace.csv:3: input: must lie between 1 and"));
  std::remove(trace.c_str());
}

TEST(SimulateCommand, RefusesInOneLine) {
  const std::pair<const char*, const char*> cases[] = {{"--tp 0", "--tp"},
                                                       {"--engine pytorch", "--engine: must be vllm, sglang or trtllm"},
                                                       {"--gpu H1000", "H1000"},
                                                       {"--rate -1", "--rate"},
                                                       {"--input 0", "--input"},
                                                       {"--router x", "--router"},
                                                       {"--policy x", "--policy"},
                                                       {"--sweep x", "--sweep"},
                                                       {"--slo x", "--slo"},
                                                       {"--max-num-seqs -1", "--max-num-seqs"},
                                                       {"--gpu-memory-utilization 2", "--gpu-memory-utilization"},
                                                       {"--gpu-memory-utilization 0.1", "does not fit"},
                                                       {"--trace /nonexistent", "/nonexistent"},
                                                       {"--draft 4 --acceptance 2", "--acceptance"},
                                                       {"--draft 65", "--draft"},
                                                       {"--rate nan", "--rate"},
                                                       {"--burstiness 0", "--burstiness"},
                                                       {"--tp 3", "3 does not divide the 32 attention heads"},
                                                       {"--ep 2", "no experts"},
                                                       {"--attention-dp 2", "no experts"},
                                                       {"--cluster nope", "nope"},
                                                       {"--gpu A100-SXM-80GB --cluster hgx-h100", "not the GPU of"},
                                                       {"--prefill-replicas 1 --dp 0", "--dp"},
                                                       {"--prefill-replicas 1 --link 0", "--link"},
                                                       {"--prefill-replicas 1 --link-latency -1", "--link-latency"},
                                                       {"--block-size 1000000000", "--block-size"},
                                                       {"--prefixes 3", "--prefixes"},
                                                       {"--prefill-tp 2", "--prefill-tp: has no effect without"},
                                                       {"--prefill-tp 3 --prefill-replicas 1", "3 does not divide"},
                                                       {"--trace x --rate 5", "--rate"},
                                                       {"--trace x --input 5", "--input: has no effect beside a trace"},
                                                       {"--sweep rate=1,4 --rate 5", "--rate: has no effect beside"},
                                                       {"--chunked-prefill-size 512", "has no effect with engine vllm"},
                                                       {"--trace x --sweep rate=1,4", "--sweep"},
                                                       {"--num-prompts -1", "--num-prompts"},
                                                       {"--requests /nonexistent/a.csv", "/nonexistent/a.csv"},
                                                       {"--timeline /", "is a directory"}};
  for (const auto& [flags, words] : cases) {
    const std::string gpu = std::string_view(flags).starts_with("--gpu ") ? "" : "--gpu H100-SXM ";
    const Ran ran = run_tilecast("simulate Llama-3.1-8B " + gpu + flags);
    EXPECT_EQ(ran.code, 2) << flags;
    EXPECT_THAT(ran.err, HasSubstr(words)) << flags;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  }
  EXPECT_THAT(run_tilecast("simulate Llama-3.1-8B").err, HasSubstr("--gpu: is missing (for example H100-SXM)"));
  const Ran refused = run_tilecast("simulate Llama-3.1-8B --gpu H100-SXM --num-prompts 2 --input 200000");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("request 0: 200000 + 256 tokens, the context limit is 131072"));
}

TEST(SimulateCommand, EnergyOnlyWhereItIsKnown) {
  const Ran known = run_tilecast("simulate Llama-3.1-8B --gpu H200-SXM --num-prompts 20 --no-interval");
  EXPECT_THAT(known.out, HasSubstr("J an output token (a model"));
  const std::string amd = "simulate Llama-3.1-8B --gpu MI300X --num-prompts 20 --no-interval";
  const Ran text = run_tilecast(amd), json = run_tilecast(amd + " --json");
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_EQ(text.out.find("energy"), std::string::npos);
  const auto load = nlohmann::json::parse(json.out)["loads"][0];
  EXPECT_TRUE(load["metrics"]["energy"].is_null());
  EXPECT_TRUE(load["over_time"][0]["power_w"].is_null());
}

// Ranks with requests of their own that share the experts: one replica each, in step.
TEST(SimulateCommand, AttentionDataParallel) {
  const Ran ran =
      run_tilecast("simulate Qwen3-30B-A3B --gpu H100-SXM --attention-dp 4 --num-prompts 40 --no-interval --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json["replicas"], 4);
  EXPECT_EQ(json["loads"][0]["metrics"]["completed"], 40);
}

// More ranks for prompts: first tokens come sooner, the others as before.
TEST(SimulateCommand, PoolsOfTheirOwnRanks) {
  const auto metrics = [](const std::string& flags) {
    const Ran ran = run_tilecast(
        "simulate Llama-3.1-8B --gpu H100-SXM --prefill-replicas 1 --input 8192 --output 64 --num-prompts 8 --rate 1 "
        "--json " +
        flags);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return nlohmann::json::parse(ran.out)["loads"][0]["metrics"];
  };
  const auto alike = metrics(""), wider = metrics("--prefill-tp 4");
  EXPECT_LT(wider["mean_ttft_ms"].get<double>(), 0.6 * alike["mean_ttft_ms"].get<double>());
  EXPECT_NEAR(wider["mean_tpot_ms"].get<double>() / alike["mean_tpot_ms"].get<double>(), 1, 0.3);
  EXPECT_GT(wider["energy"]["mean_w"].get<double>(), alike["energy"]["mean_w"].get<double>() + 3 * 140);
}

TEST(SimulateCommand, OneToken) {
  const Ran one = run_tilecast("simulate Llama-3.1-8B --gpu H100-SXM --num-prompts 3 --input 1 --output 1 --json");
  ASSERT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(nlohmann::json::parse(one.out)["loads"][0]["metrics"]["total_output_tokens"], 3);
}

}  // namespace
}  // namespace tilecast
