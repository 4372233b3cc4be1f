// `tilecast predict`, `memory` and `models` through the real binary.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/cli_testing.h"

namespace tilecast {
namespace {

using Json = nlohmann::json;

TEST(PredictCommand, ForecastsALanguageModelOnSeveralGpus) {
  const auto run = run_tilecast("predict Llama-3.1-8B --gpu H100-SXM,MI300X --mode decode --batch 32 --context 2048");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("decode 32 × 1 token after 2,048"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("MI300X"), std::string::npos);
  EXPECT_NE(run.out.find("layer × 32"), std::string::npos);
}

TEST(PredictCommand, JsonPartsSumToTheWhole) {
  const auto run = run_tilecast("predict GPT-2 --gpu H200-SXM --mode train --batch 4 --seq 512 --json");
  ASSERT_EQ(run.code, 0) << run.err;
  const Json list = Json::parse(run.out);
  ASSERT_EQ(list.size(), 1u);
  const Json& one = list[0];
  double sum = 0, optimizer = 0, ceiling = 0;
  for (const Json& k : one["kernels"]) {
    const double t = k["times"].get<double>() * k["latency_us"].get<double>();
    sum += t;
    if (k["pass"] == "optimizer") optimizer += t;
    ceiling += k["times"].get<double>() * k["ceiling_us"].get<double>();
    EXPECT_GE(k["latency_us"].get<double>(), k["ceiling_us"].get<double>() * (1 - 1e-9)) << k;
    EXPECT_GE(k["ceiling_us"].get<double>(), k["bound_us"].get<double>() * (1 - 1e-9)) << k;
  }
  EXPECT_NEAR(ceiling / 1e3, one["ceiling_ms"].get<double>(), 1e-6 * ceiling);
  EXPECT_GT(one["ceiling_ms"], one["bound_ms"]);
  EXPECT_LT(one["ceiling_ms"], one["gpu_ms"]);
  EXPECT_NEAR(sum / 1e3, one["gpu_ms"].get<double>(), 1e-6 * sum);
  EXPECT_GT(optimizer, 0);
  EXPECT_LE(one["interval_ms"][0].get<double>(), one["step_ms"].get<double>());
  EXPECT_GE(one["interval_ms"][1].get<double>(), one["step_ms"].get<double>());
  EXPECT_TRUE(one["memory_bytes"]["fits"].get<bool>());
}

TEST(PredictCommand, ComparesFormatsAndEngines) {
  const auto run =
      run_tilecast("predict Llama-3.1-8B --gpu H100-SXM --seq 2048 --dtype bf16,fp8 --engine vllm,trtllm --compare");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("H100-SXM trtllm fp8"), std::string::npos) << run.out;
}

TEST(PredictCommand, WritesATraceThatHoldsTheStep) {
  const std::string path = scratch_path("trace.json");
  const auto run = run_tilecast("predict GPT-2 --gpu A100-SXM-80GB --seq 128 --json --trace " + path);
  ASSERT_EQ(run.code, 0) << run.err;
  const Json trace = Json::parse(std::ifstream(path));
  double end = 0, kernels = 0;
  for (const Json& e : trace["traceEvents"]) {
    if (e["ph"] != "X") continue;
    end = std::max(end, e["ts"].get<double>() + e["dur"].get<double>());
    if (e["tid"] == 2) kernels += e["dur"].get<double>();
  }
  const double gpu_us = 1e3 * Json::parse(run.out)[0]["gpu_ms"].get<double>();
  EXPECT_NEAR(end, gpu_us, 1e-6 * gpu_us);
  EXPECT_NEAR(kernels, gpu_us, 1e-6 * gpu_us);
}

TEST(MemoryCommand, SaysWhatFits) {
  const auto run = run_tilecast("memory Llama-3.1-70B --gpu H100-SXM,B200 --mode decode --batch 4 --context 4096");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find(" no "), std::string::npos) << run.out;
  EXPECT_NE(run.out.find(" yes "), std::string::npos) << run.out;
}

// One clear line each, a non-zero exit, nothing on standard output.
class BadPredict : public testing::TestWithParam<std::pair<const char*, const char*>> {};
TEST_P(BadPredict, IsRefusedInOneLine) {
  const auto run = run_tilecast(std::string("predict ") + GetParam().first);
  EXPECT_NE(run.code, 0);
  EXPECT_TRUE(run.out.empty()) << run.out;
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  EXPECT_NE(run.err.find(GetParam().second), std::string::npos) << run.err;
}
INSTANTIATE_TEST_SUITE_P(
    Inputs, BadPredict,
    testing::Values(std::pair{"Lama-3.1-8B --gpu H100-SXM --seq 10", "did you mean"},
                    std::pair{"Llama-3.1-8B --gpu H100-SXM", "--seq"}, std::pair{"Llama-3.1-8B --seq 10", "--gpu"},
                    std::pair{"Llama-3.1-8B --gpu H100-SXM --mode decode", "--context"},
                    std::pair{"Llama-3.1-8B --gpu H100-SXM --seq -5", "--seq"},
                    std::pair{"Llama-3.1-8B --gpu H100-SXM --seq 10 --batch 0", "--batch"},
                    std::pair{"Llama-3.1-8B --gpu H100-SXM --seq 10 --engine tgi", "--engine"},
                    std::pair{"Llama-3.1-8B --gpu H100-SXM --seq 10 --mode train --engine vllm", "does not train"},
                    std::pair{"Llama-3.1-8B --gpu H100-SXM --mode mixed --requests 4y5", "--requests"},
                    std::pair{"BERT-Large --gpu H100-SXM --mode decode --context 10", "does not generate"},
                    std::pair{"no-such.onnx --gpu H100-SXM", "no-such.onnx"},
                    std::pair{"Llama-3.1-8B --gpu V100-SXM --seq 10 --dtype fp8", "fp8"}));

TEST(ModelsCommand, ListsTheLibrary) {
  const auto run = run_tilecast("models --json");
  ASSERT_EQ(run.code, 0) << run.err;
  const Json list = Json::parse(run.out);
  EXPECT_GT(list.size(), 100u);
  for (const Json& m : list)
    if (m["name"] == "Llama-3.1-8B") {
      EXPECT_EQ(m["parameters"], 8030261248);
    }
}

TEST(PredictCommand, OneImpossiblePairIsARowOfItsOwn) {
  const std::string asked =
      "Llama-3.1-8B --gpu V100-SXM,H100-SXM --mode decode --batch 8 --context 1024 --dtype bf16,fp8";
  for (const std::string command : {"predict ", "memory "}) {
    const auto run = run_tilecast(command + asked);
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_NE(run.out.find("cannot run: "), std::string::npos) << run.out;
    EXPECT_NE(run.out.find("fp8 pipe"), std::string::npos) << run.out;
    const auto json = run_tilecast(command + asked + " --json");
    ASSERT_EQ(json.code, 0) << json.err;
    int refused = 0, forecast = 0;
    for (const Json& one : Json::parse(json.out)) one.contains("error") ? ++refused : ++forecast;
    EXPECT_EQ(refused, 1);
    EXPECT_EQ(forecast, 3);
  }
  // So is a card that the engine does not run on, unless it is the only one.
  const auto pascal = run_tilecast("predict gpt2 --gpu P100-SXM,H100-SXM --engine vllm --seq 128");
  EXPECT_EQ(pascal.code, 0) << pascal.err;
  EXPECT_NE(pascal.out.find("cannot run: vLLM needs compute capability"), std::string::npos) << pascal.out;
  EXPECT_EQ(run_tilecast("predict gpt2 --gpu P100-SXM --engine vllm --seq 128").code, 2);
}

TEST(PredictCommand, SaysWhereAContextIsBeyondTheModel) {
  for (const std::string command : {"predict ", "memory "}) {
    const std::string asked = command + "Llama-3.1-8B --gpu H100-SXM --mode decode --batch 1 --context ";
    EXPECT_NE(run_tilecast(asked + "200000").out.find("made for 131072 tokens; 200001 are beyond"), std::string::npos);
    EXPECT_EQ(run_tilecast(asked + "2000").out.find("beyond"), std::string::npos);
  }
}

// Three digits of a rate below ten, not what is left of it as a whole number.
TEST(PredictCommand, SlowStepsHaveARateToo) {
  const auto run = run_tilecast("predict Llama-3.1-405B --gpu L40S --mode decode --context 128");
  EXPECT_NE(run.out.find(" 0.9"), std::string::npos) << run.out;
}

TEST(PredictCommand, CountsImagesWhereThereAreNoTokens) {
  const auto run = run_tilecast("predict ViT-B-16 --gpu H100-SXM --batch 256");
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("prefill 256 images"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("images/s"), std::string::npos) << run.out;
  EXPECT_EQ(run.out.find("token"), std::string::npos) << run.out;
}

// vLLM's log of Llama 3.1 8B on an H100 says 442,160 tokens; a simulation starts with as many as this command says.
TEST(MemoryCommand, AgreesWithTheSimulation) {
  const auto run = run_tilecast("memory Llama-3.1-8B --gpu H100-SXM --mode decode --batch 1 --context 1000 --json");
  ASSERT_EQ(run.code, 0) << run.err;
  const double tokens = Json::parse(run.out)[0]["memory_bytes"]["cache_room_tokens"].get<double>();
  EXPECT_NEAR(tokens / 442160, 1, 0.01);
  auto simulated = run_tilecast(
      "simulate Llama-3.1-8B --gpu H100-SXM --num-prompts 1 --input 16 --output 2 --concurrency 1 --no-interval");
  ASSERT_EQ(simulated.code, 0) << simulated.err;
  std::erase(simulated.out, ',');
  EXPECT_NE(simulated.out.find(fmt::format(" {:.0f} tokens", tokens)), std::string::npos) << simulated.out;
}

TEST(MemoryCommand, DividesOverRanks) {
  const auto tokens = [](const std::string& layout) {
    const auto run =
        run_tilecast("memory Llama-3.1-70B --gpu H100-SXM --mode decode --batch 1 --context 1000 --json " + layout);
    EXPECT_EQ(run.code, 0) << run.err;
    const Json one = Json::parse(run.out)[0];
    return one["fits"].get<bool>() ? one["stages"][0]["cache_room_tokens"].get<double>() : 0;
  };
  EXPECT_GT(tokens("--tp 4"), 0);
  EXPECT_GT(tokens("--tp 8"), 2 * tokens("--tp 4"));
  EXPECT_GT(tokens("--tp 4 --pp 2"), 2 * tokens("--tp 4"));
  const auto table = run_tilecast("memory Llama-3.1-70B --gpu H100-SXM --tp 4 --mode decode --batch 1 --context 1000");
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_NE(table.out.find("memory of each rank"), std::string::npos) << table.out;
}

TEST(ModelsCommand, ShowsOneModel) {
  const auto run = run_tilecast("models Llama-3.1-8B");
  ASSERT_EQ(run.code, 0) << run.err;
  for (const char* words : {"8.03 B", "context     131,072 tokens", "128 KiB a token", "vocabulary 128,256",
                            "source: ", "attention, 32 heads of 128 (8 of keys and values)", "dense, 14,336 wide"})
    EXPECT_NE(run.out.find(words), std::string::npos) << words << "\n" << run.out;
  const auto json = run_tilecast("models meta-llama/Llama-3.1-8B-Instruct --json");
  ASSERT_EQ(json.code, 0) << json.err;
  const Json one = Json::parse(json.out);
  EXPECT_EQ(one["name"], "Llama-3.1-8B");
  EXPECT_EQ(one["layer_kinds"][0]["kv_heads"], 8);
  EXPECT_EQ(one["cache_bytes_per_token"], 131072);
  const auto miss = run_tilecast("models Lama-3.1-8B");
  EXPECT_EQ(miss.code, 2);
  EXPECT_NE(miss.err.find("did you mean"), std::string::npos) << miss.err;
  EXPECT_EQ(run_tilecast("models gpt2 --classes").code, 2);
}

}  // namespace
}  // namespace tilecast
