#include "lab/evidence/serving.h"

#include <gtest/gtest.h>

#include "lab/evidence/endtoend_report.h"
#include "support/test_files.h"

namespace tilecast {
namespace {

constexpr const char* kHeader =
    "source,gpu,num_gpus,tp,pp,dp_ep,model,precision,engine,engine_version,batch_or_concurrency,isl,osl,seqlen,metric,"
    "value,unit,notes\n";

std::string request_rows(int id, double arrival, int input, int output, double ttft, double tpot, double latency) {
  std::string rows;
  for (const auto& [metric, value] : {std::pair("req_ttft", ttft), {"req_tpot", tpot}, {"req_e2e_latency", latency}})
    rows += "s,RTX 4090,1,1,1,,meta-llama/Llama-3.1-8B,bfloat16,vLLM,0.19.0,x," + std::to_string(input) + "," +
            std::to_string(output) + ",," + metric + "," + std::to_string(value) + ",ms,bench-" + std::to_string(id) +
            ";arrival_s=" + std::to_string(arrival) + ";sched_delay_ms=1\n";
  return rows;
}

TEST(ServingCasesTest, ReadsRequestsOneByOne) {
  const TestFolder folder;
  const std::string path = folder.plain(
      "r.csv", kHeader + request_rows(0, 0, 100, 11, 50, 10, 150) + request_rows(1, 0.1, 200, 1, 60, 0, 60));
  const auto cases = llmservingsim_cases(path);
  ASSERT_TRUE(cases) << cases.error().line();
  const ServingCase& one = cases->cases.front();
  ASSERT_EQ(one.requests.size(), 2u);
  EXPECT_EQ(one.requests[1].input, 200);
  EXPECT_DOUBLE_EQ(one.requests[1].arrival.base(), 0.1);
  EXPECT_NEAR(one.measured.at("ttft"), 0.055, 1e-9);
  EXPECT_NEAR(one.measured.at("throughput"), 12 / 0.16, 1e-6);
  // At 0.15 s the first ends with 111 tokens while the second, scheduled since 0.101 s, holds its prompt.
  EXPECT_NEAR(one.measured.at("peak"), 111 + 200, 1);
  const auto judged = judge_serving(cases->cases, Method::roofline, nullptr);
  ASSERT_TRUE(judged) << judged.error().line();
  EXPECT_EQ(judged->size(), 4u);
  for (const EndToEndResult& r : *judged) EXPECT_GT(r.forecast, 0) << r.quantity;
  EXPECT_EQ(one.label.detail, "2 requests, arrivals given");
  EXPECT_EQ(cases->rows, 6);
}

std::string lab_rows(const std::string& gpus, const std::string& model, const std::string& load,
                     const std::string& command, const std::string& version = "v0.11.0",
                     const std::string& input = "200") {
  std::string rows;
  for (const auto& [metric, value] :
       {std::pair("ttft_mean", 20.0), {"tpot_mean", 10.0}, {"output_throughput", 380.0}, {"request_throughput", 3.8}})
    rows += "s,H100," + gpus + ",1,1,," + model + ",x,vLLM," + version + "," + load + "," + input + ",100,," + metric +
            "," + std::to_string(value) + ",x,\"1. | info | " + command + " | n=40\"\n";
  return rows;
}

TEST(ServingCasesTest, ReadsServeCommands) {
  const TestFolder folder;
  const std::string one = "A single NVIDIA H100 SXM GPU.";
  const std::string path = folder.plain(
      "g.csv",
      kHeader +
          lab_rows(one, "Qwen/Qwen3-8B", "4", "vllm serve Qwen/Qwen3-8B-FP8 --max-num-seqs=32 --async-scheduling") +
          lab_rows(one, "Qwen/Qwen3-8B", "\"inf-rate, peak 40\"", "vllm serve Qwen/Qwen3-8B") +
          lab_rows("8 x NVIDIA H100 GPUs", "Qwen/Qwen3-8B", "4", "vllm serve Qwen/Qwen3-8B -tp 8") +
          lab_rows(one, "Qwen/Qwen3-8B", "4", "vllm serve Qwen/Qwen3-8B -tp 2") +
          lab_rows(one, "Qwen/Qwen3-8B", "4", "vllm serve Qwen/Qwen3-8B --speculative-config x") +
          lab_rows(one, "Qwen/Qwen3-8B", "512", "vllm serve Qwen/Qwen3-8B") +
          lab_rows(one, "No/Model", "4", "vllm serve No/Model") +
          lab_rows(one, "Qwen/Qwen3-32B", "4", "vllm serve Qwen/Qwen3-32B", "v0.11.0", "32000") +
          lab_rows(one, "Qwen/Qwen3-32B", "4", "vllm serve Qwen/Qwen3-32B --gpu-memory-utilization 0.5") +
          lab_rows(one, "Qwen/Qwen3-8B", "4", "vllm serve Qwen/Qwen3-8B", ""));
  const auto cases = gpustack_cases(path, {{seconds(0), 10, 20}, {seconds(0), 30, 5}});
  ASSERT_TRUE(cases) << cases.error().line();
  ASSERT_EQ(cases->cases.size(), 4u);
  ASSERT_TRUE(cases->cases[2].deployment.spread);
  EXPECT_EQ(cases->cases[2].deployment.spread->layout.tp, 8);
  EXPECT_EQ(cases->cases[3].deployment.spread->layout.tp, 2);
  const ServingCase& closed = cases->cases[0];
  EXPECT_FALSE(closed.deployment.spread);
  EXPECT_EQ(closed.deployment.model.name, "Qwen3-8B-FP8");  // as the command says, not the list
  EXPECT_EQ(closed.deployment.max_sequences, 32);
  EXPECT_TRUE(closed.deployment.overlapped);
  EXPECT_EQ(closed.concurrency, 4);
  EXPECT_EQ(closed.requests.size(), 40u);
  const ServingCase& open = cases->cases[1];
  EXPECT_EQ(open.concurrency, 0);
  EXPECT_FALSE(open.deployment.overlapped);
  double input = 0;
  for (const Request& r : open.requests) input += static_cast<double>(r.input);
  EXPECT_NEAR(input / 40, 200, 2);
  EXPECT_EQ(cases->left_out.at("speculative decoding"), 1);
  EXPECT_EQ(cases->left_out.at("sent at a rate that is not said"), 1);
  EXPECT_EQ(cases->left_out.at("unknown model 'No/Model'"), 1);
  EXPECT_EQ(cases->left_out.at("does not fit as its command says"), 1);
  EXPECT_EQ(cases->left_out.at("requests do not fit the cache as its command says"), 1);
  EXPECT_EQ(cases->left_out.at("engine version not said"), 1);
}

// Rows of the sample: what they have in common, the pools' columns empty unless given.
std::string point(const std::string& source, const std::string& what, const std::string& ranks,
                  const std::string& figures, const std::string& pools = ",,,,,,,,,,,") {
  return source + "," + what + "," + ranks + "," + pools + "," + figures + "\n";
}

constexpr const char* kPoints =
    "silicon_data_source,backend,model_path,system,precision,mode,isl,osl,gemm_quant_mode,moe_quant_mode,batch_size,"
    "tp_size,pp_size,attention_dp_size,moe_tp_size,moe_ep_size,prefill_num_workers,prefill_tp_size,prefill_pp_size,"
    "prefill_attention_dp_size,prefill_moe_tp_size,prefill_moe_ep_size,decode_num_workers,decode_tp_size,"
    "decode_pp_size,decode_attention_dp_size,decode_moe_tp_size,decode_moe_ep_size,silicon_ttft_ms,silicon_tpot_ms\n";

TEST(ServingCasesTest, ReadsServingPoints) {
  const TestFolder folder;
  const std::string llama = "trtllm,meta-llama/Llama-3.1-70B,b200_sxm,fp8,agg,1024,1024,fp8,fp8,8";
  const std::string path = folder.plain(
      "s.csv", kPoints + point("csv", llama, "1,1,,1,1", "400,15") +  // taken
                   point("csv", llama, "1,1,,1,1", "400,15") +        // a copy
                   point("csv", llama, "2,1,,1,1", "400,15") +        // two GPUs
                   point("csv", llama, "1,1,,1,1", "40000,15") +      // TTFT too long
                   point("csv", llama, "64,1,,1,1", "400,15") +       // more ranks than a node has
                   point("aic-auto-gap-analysis", "vllm,meta-llama/Llama-3.1-8B-Instruct,h100_sxm,,agg,1000,100,,,40",
                         "1,1,0,1,1", "50,7") +
                   point("csv", "sglang,deepseek-ai/DeepSeek-R1,b200_sxm,fp8,agg,1024,1024,fp8,fp8_block,64",
                         "8,1,,8,1", "400,15"));
  const auto cases = silicon_cases(path);
  ASSERT_TRUE(cases) << cases.error().line();
  ASSERT_EQ(cases->cases.size(), 4u);
  ASSERT_TRUE(cases->cases[1].deployment.spread);
  EXPECT_EQ(cases->cases[1].deployment.spread->layout.tp, 2);
  EXPECT_EQ(cases->cases[1].deployment.spread->cluster.gpu.name, "B200");
  const ServingCase& x = cases->cases[0];
  EXPECT_FALSE(x.deployment.spread);
  EXPECT_EQ(x.deployment.engine.precision.linear.name, "fp8_static");  // NVIDIA's checkpoint
  EXPECT_EQ(x.deployment.wait_steps, 20);
  EXPECT_EQ(x.deployment.max_tokens, 16384);
  EXPECT_EQ(x.deployment.engine.precision.cache, CacheType::fp8);
  EXPECT_EQ(x.requests.size(), 80u);
  for (const Request& r : x.requests) EXPECT_TRUE(r.input >= 819 && r.input <= 1025) << r.input;
  EXPECT_NEAR(x.measured.at("tpot"), 0.015, 1e-12);
  // AIConfigurator's own: equal prompts, a hundred different ones, of which eighty were sent before.
  const ServingCase& own = cases->cases[2];
  EXPECT_EQ(own.label.detail, "bf16, one GPU, 1000/100");
  EXPECT_EQ(own.deployment.max_sequences, 40);
  EXPECT_EQ(own.warm_up, 80);
  ASSERT_EQ(own.requests.size(), 480u);
  EXPECT_EQ(own.requests[79].output, 1);
  EXPECT_EQ(own.requests[79].arrival, seconds(0));
  EXPECT_EQ(own.requests[80].prefix, 80);
  EXPECT_GT(own.requests[80].arrival, seconds(600));
  EXPECT_EQ(own.requests[100].prefix, 0);
  EXPECT_EQ(own.requests[399].input, 1000);
  EXPECT_EQ(own.requests[399].prefix, 99);
  EXPECT_EQ(own.requests[300].prefix_tokens, 1000);
  EXPECT_EQ(cases->cases[3].deployment.receive_steps, 30);
  EXPECT_EQ(cases->left_out.at("a copy"), 1);
  EXPECT_EQ(cases->left_out.at("TTFT of 10 s and more"), 1);
  EXPECT_EQ(cases->left_out.at("tp above 8: tp x ep artefacts"), 1);
}

// SGLang's releases and flags, by image and script; MiniMax' experts before their labels were mended.
TEST(ServingCasesTest, RunsAreThoseOfTheirReleaseAndScript) {
  const TestFolder folder;
  const auto source = [](const char* image, const char* day) {
    return "db-dump; silicon_concurrency=8; measured=" + std::string(day) + "T00:00:00.000Z; " + image;
  };
  const std::string qwen = "sglang,Qwen/Qwen3.5-397B-A17B,b200_sxm,";
  const std::string minimax = "vllm,MiniMaxAI/MiniMax-M2.5,b200_sxm,fp8,agg,1024,1024,fp8,fp8,";
  const auto cases = silicon_cases(folder.plain(
      "s.csv", kPoints +
                   point(source("lmsysorg/sglang:v0.5.9-cu129-amd64", "2026-03-04"),
                         qwen + "fp8,agg,1024,1024,fp8,fp8_block,8", "8,1,1,8,1", "300,9") +
                   point(source("lmsysorg/sglang:nightly-dev-20260402-d7256eb6", "2026-04-08"),
                         qwen + "fp4,agg,1024,1024,nvfp4,nvfp4,8", "4,1,1,4,1", "300,9") +
                   point(source("lmsysorg/sglang:v0.5.9-cu130", "2026-03-20"),
                         qwen + "fp8,agg,1024,1024,fp8,fp8_block,64", "4,1,1,4,1", "300,9") +
                   point(source("x", "2026-03-20"), "sglang,zhipuai/GLM-5,b200_sxm,fp8,agg,1024,1024,fp8,fp8_block,8",
                         "8,1,1,8,1", "300,9") +
                   point(source("x", "2026-03-11"), minimax + "8", "4,1,1,4,1", "100,9") +
                   point(source("x", "2026-04-03"), minimax + "16", "4,1,1,4,1", "100,9") +
                   point(source("x", "2026-04-03"), minimax + "4", "2,1,2,1,4", "100,9")));
  ASSERT_TRUE(cases) << cases.error().line();
  ASSERT_EQ(cases->cases.size(), 7u);
  const auto at = [&](std::size_t i) -> const DeploymentOptions& { return cases->cases[i].deployment; };
  EXPECT_EQ(at(0).engine.fused_sums, std::nullopt);
  EXPECT_FALSE(at(0).engine.merged_scans);
  EXPECT_EQ(at(0).max_sequences, 0);
  EXPECT_EQ(at(1).engine.fused_sums, true);
  EXPECT_TRUE(at(1).engine.merged_scans);
  EXPECT_EQ(at(2).speculation.draft, 3);
  EXPECT_EQ(at(2).max_sequences, 128);
  EXPECT_EQ(at(3).engine.fused_sums, true);
  EXPECT_EQ(at(4).engine.fused_sums, true);
  EXPECT_EQ(at(4).spread->layout.ep, 4);
  EXPECT_EQ(at(4).spread->layout.expert_tp, 1);
  EXPECT_EQ(at(4).engine.precision.cache, CacheType::same);
  EXPECT_EQ(at(5).engine.precision.cache, CacheType::fp8);
  EXPECT_EQ(at(5).spread->layout.ep, 1);
  EXPECT_EQ(at(5).spread->layout.expert_tp, 4);
  EXPECT_EQ(at(6).spread->layout.ranks(), 2);
  EXPECT_EQ(at(6).spread->layout.dp, 1);
  EXPECT_EQ(at(6).spread->layout.ep, 2);
  EXPECT_EQ(cases->cases[6].concurrency, 8);
}

// vLLM waits for a step before it plans the next one up to 0.13; what warms a server up is in no figure.
TEST(ServingCasesTest, OwnRunsOfVllmAreThoseOfItsRelease) {
  const TestFolder folder;
  const auto source = [](const char* release) {
    return "source_file=/aic-auto-gap-analysis/data/h100_sxm/vllm/" + std::string(release) + "/x.csv";
  };
  const std::string llama = "vllm,meta-llama/Llama-3.1-8B-Instruct,h100_sxm,,agg,4000,8,,,";
  const auto cases =
      silicon_cases(folder.plain("s.csv", kPoints + point(source("0.12.0"), llama + "64", "1,1,0,1,1", "50,7") +
                                              point(source("0.14.1"), llama + "32", "1,1,0,1,1", "50,7")));
  ASSERT_TRUE(cases) << cases.error().line();
  ASSERT_EQ(cases->cases.size(), 2u);
  EXPECT_FALSE(cases->cases[0].deployment.overlapped);
  EXPECT_TRUE(cases->cases[1].deployment.overlapped);
  for (const ServingCase& one : cases->cases) EXPECT_EQ(*one.deployment.host_per_streaming, seconds(0));
  // All prompts were seen before: the same without that would compute most of them.
  ServingCase cold = cases->cases[0];
  cold.requests.erase(cold.requests.begin(), cold.requests.begin() + cold.warm_up);
  cold.warm_up = 0;
  const auto judged = judge_serving({cases->cases[0], cold}, Method::roofline, nullptr);
  ASSERT_TRUE(judged) << judged.error().line();
  ASSERT_EQ(judged->size(), 4u);
  for (const std::size_t quantity : {0u, 1u})
    EXPECT_LT((*judged)[quantity].forecast, 0.9 * (*judged)[2 + quantity].forecast) << (*judged)[quantity].quantity;
}

// InferenceX's scripts ask vLLM for a cache in fp8 on Blackwell, and on Hopper for Llama 3.1 70B.
TEST(ServingCasesTest, TheCacheIsWhatTheScriptsAskFor) {
  const TestFolder folder;
  const auto row = [](const char* engine, const char* system, const char* model = "meta-llama/Llama-3.1-70B") {
    return std::string(engine) + "," + model + "," + system + ",fp8,agg,1024,1024,fp8,fp8,8";
  };
  const auto cases = silicon_cases(folder.plain(
      "s.csv", kPoints + point("csv", row("vllm", "h100_sxm", "meta-llama/Llama-3.1-8B"), "4,1,,1,1", "400,15") +
                   point("csv", row("vllm", "h100_sxm"), "4,1,,1,1", "400,15") +
                   point("csv", row("vllm", "b200_sxm"), "4,1,,1,1", "400,15") +
                   point("csv", row("trtllm", "h100_sxm"), "4,1,,1,1", "400,15") +
                   point("aic-auto-gap-analysis", row("vllm", "h100_sxm"), "4,1,0,1,1", "400,15")));
  ASSERT_TRUE(cases) << cases.error().line();
  ASSERT_EQ(cases->cases.size(), 5u);
  EXPECT_NE(cases->cases[0].deployment.engine.precision.cache, CacheType::fp8);
  for (const std::size_t i : {1u, 2u, 3u, 4u})
    EXPECT_EQ(cases->cases[i].deployment.engine.precision.cache, CacheType::fp8) << i;
  EXPECT_EQ(cases->cases[1].deployment.engine.fused_sums, false);  // scripts for B200 alone ask for it
  EXPECT_EQ(cases->cases[2].deployment.engine.fused_sums, true);
  EXPECT_EQ(cases->cases[4].deployment.engine.fused_sums, std::nullopt);
}

// InferenceX' images and days say whether DeepSeek's next-token layers proposed tokens.
TEST(ServingCasesTest, DraftsByTheImage) {
  const TestFolder folder;
  const std::string row = "trtllm,deepseek-ai/DeepSeek-R1,b200_sxm,fp8,agg,1024,1024,fp8,fp8_block,8";
  const auto from = [](const std::string& image, const std::string& day) {
    return "x.csv; silicon_concurrency=8; measured=" + day +
           "T01:02:03Z; image=nvcr.io/nvidia/tensorrt-llm/release:" + image;
  };
  const std::string path =
      folder.plain("s.csv", kPoints + point(from("1.2.0rc6.post2", "2026-01-29"), row, "8,1,,8,1", "400,11") +
                                point(from("1.2.0rc6.post3", "2026-02-05"), row, "8,1,,8,1", "400,6") +  // no copy
                                point(from("1.1.0rc2.post2", "2025-12-15"), row, "4,1,,4,1", "400,17") +
                                point(from("1.1.0rc2.post2", "2026-01-14"), row, "4,1,,4,1", "400,9") +
                                point(from("1.2.0rc6.post3", "2026-02-05"), row, "1,1,8,1,8", "400,20"));
  const auto cases = silicon_cases(path);
  ASSERT_TRUE(cases) << cases.error().line();
  ASSERT_EQ(cases->cases.size(), 5u);
  const std::vector<Count> drafts = {0, 3, 0, 3, 1};
  for (std::size_t i = 0; i < drafts.size(); ++i)
    EXPECT_EQ(cases->cases[i].deployment.speculation.draft, drafts[i]) << i;
  EXPECT_EQ(cases->cases[0].deployment.max_tokens, 8192);                            // of the newer scripts
  EXPECT_EQ(cases->cases[1].deployment.max_tokens, (4 * 8 + 1024 + 127) / 64 * 64);  // the answers and one prompt
  EXPECT_EQ(cases->cases[2].deployment.max_tokens, (8 + 1024 + 127) / 64 * 64);
}

TEST(ServingCasesTest, ReadsPoolsAndAttentionRanks) {
  const TestFolder folder;
  const std::string model = "trtllm,deepseek-ai/DeepSeek-V3,", format = ",fp8,";
  const std::string apart = model + "h200_sxm" + format + "disagg,8192,1024,fp8,fp8_block,";
  const std::string together = model + "h200_sxm" + format + "agg,1024,1024,fp8,fp8_block,16";
  const std::string source = "db; silicon_concurrency=128; x";
  const std::string path = folder.plain(
      "s.csv", kPoints + point(source, apart, ",,,,", "900,20", "2,1,1,8,1,8,3,8,1,1,1,8") +  // taken
                   point(source, apart, ",,,,", "900,20", ",1,1,8,1,8,,8,1,1,1,8") +          // how many workers?
                   point(source, apart, ",,,,", "900,20", "1,1,1,8,8,1,1,8,1,1,1,8") +        // width over dp ranks
                   point(source, together, "1,1,8,1,8", "900,20") +                           // taken
                   point(source, together, "1,1,64,8,8", "900,20") +                          // 64 ranks: no node
                   point(source, together, "1,1,,8,1", "900,20"));                            // dp 8, not said
  const auto cases = silicon_cases(path);
  ASSERT_TRUE(cases) << cases.error().line();
  ASSERT_EQ(cases->cases.size(), 2u);
  const ServingCase& pools = cases->cases[0];
  EXPECT_EQ(pools.label.mode, "disagg");
  EXPECT_EQ(pools.concurrency, 128);
  ASSERT_TRUE(pools.prefill && pools.prefill->spread && pools.deployment.spread);
  EXPECT_EQ(pools.prefill->replicas, 2);
  EXPECT_EQ(pools.prefill->spread->layout.dp, 8);
  EXPECT_EQ(pools.deployment.replicas, 3);
  EXPECT_EQ(pools.deployment.spread->layout.tp, 8);
  EXPECT_DOUBLE_EQ(pools.link.bandwidth.base(), 50e9);  // forty GPUs: over the network
  EXPECT_EQ(cases->cases[1].label.mode, "agg, attention dp");
  EXPECT_EQ(cases->cases[1].concurrency, 128);  // of all ranks; the rows' batch is of one
  EXPECT_EQ(cases->cases[1].deployment.balance_steps, 60);
  EXPECT_EQ(cases->left_out.at("disaggregated, number of workers not said"), 1);
  EXPECT_EQ(cases->left_out.at("attention dp: ranks share the width of experts"), 2);
  EXPECT_EQ(cases->left_out.at("attention dp not said: experts over more ranks than attention"), 1);

  const std::vector<EndToEndResult> counted = row_counts("silicon", cases->rows, cases->left_out);
  ASSERT_EQ(counted.size(), 4u);
  EXPECT_EQ(counted[0].label.source, "silicon judged");
  EXPECT_EQ(counted[1].label.source, "silicon left out");
  double rows = 0;
  for (const EndToEndResult& r : counted) rows += r.measured;
  EXPECT_EQ(rows, 6);
  const auto judged = judge_serving(cases->cases, Method::roofline, nullptr);
  ASSERT_TRUE(judged) << judged.error().line();
  EXPECT_EQ(judged->size(), 4u);
  for (const EndToEndResult& r : *judged) EXPECT_GT(r.forecast, 0) << r.label.mode << ' ' << r.quantity;
}

// InferenceX's labels of pools were mended in March 2026; Dynamo stands before all of them.
TEST(ServingCasesTest, PoolsAreLaidOutAsTheirRecipesSay) {
  const TestFolder folder;
  const auto from = [](const char* day) {
    return "db; silicon_concurrency=8; measured=" + std::string(day) + "T00:00:00Z; ai-dynamo/tensorrtllm-runtime:1";
  };
  const auto asked = [](const char* model, const char* system, int input) {
    const char* formats = std::string_view(model).starts_with("vllm") ? ",1024,nvfp4,nvfp4," : ",1024,fp8,fp8_block,";
    return std::string(model) + "," + system + ",fp8,disagg," + std::to_string(input) + formats;
  };
  const char *deepseek = "trtllm,deepseek-ai/DeepSeek-V3", *kimi = "vllm,moonshotai/Kimi-K2.5";
  const char *data = "1,1,1,8,1,8,1,8,1,1,1,8", *tensor = "1,8,1,1,1,8,1,8,1,1,1,8";
  const auto cases = silicon_cases(folder.plain(
      "s.csv", kPoints + point(from("2026-02-14"), asked(deepseek, "h200_sxm", 8192), ",,,,", "900,20", data) +
                   point(from("2026-03-23"), asked(deepseek, "h200_sxm", 8192), ",,,,", "900,21", tensor) +
                   point(from("2026-02-14"), asked(deepseek, "h200_sxm", 1024), ",,,,", "300,20", tensor) +
                   point(from("2026-04-07"), asked(kimi, "gb200", 1024), ",,,,", "300,20", "1,4,1,1,1,4,1,8,1,1,1,8")));
  ASSERT_TRUE(cases) << cases.error().line();
  ASSERT_EQ(cases->cases.size(), 4u);
  const std::vector<int> ranks_of_attention = {1, 1, 8, 4};
  for (std::size_t i = 0; i < 4; ++i) {
    const ServingCase& one = cases->cases[i];
    ASSERT_TRUE(one.prefill && one.prefill->spread && one.deployment.spread) << i;
    EXPECT_EQ(one.prefill->spread->layout.dp, ranks_of_attention[i]) << i;
    EXPECT_EQ(one.prefill->eager, i == 3) << i;
    EXPECT_FALSE(one.deployment.eager) << i;
    EXPECT_EQ(*one.deployment.host_receive, milliseconds(80)) << i;
  }
  EXPECT_EQ(cases->cases[0].deployment.spread->layout.dp, 1);
  EXPECT_EQ(cases->cases[3].deployment.spread->layout.dp, 8);  // dep8
}

// First tokens that wait for a compiler are not judged, and a run filed under two names counts once.
TEST(ServingCasesTest, LeavesOutWhatIsNoServing) {
  const TestFolder folder;
  const auto row = [](const char* model, const char* system) {
    return "sglang,deepseek-ai/" + std::string(model) + "," + system + ",fp4,agg,1024,1024,nvfp4,nvfp4,32";
  };
  const auto cases = silicon_cases(
      folder.plain("s.csv", kPoints + point("csv", row("DeepSeek-R1", "b200_sxm"), "8,1,,8,1", "7000,13") +
                                point("csv", row("DeepSeek-R1", "b200_sxm"), "8,1,,1,8", "500,13.1") +
                                point("csv", row("DeepSeek-R1", "h200_sxm"), "8,1,,8,1", "7000,13.2") +
                                point("csv", row("DeepSeek-V3", "b200_sxm"), "8,1,,8,1", "7000,13") +
                                point("csv", row("DeepSeek-V3", "b200_sxm"), "8,1,,1,8", "500,13.3")));
  ASSERT_TRUE(cases) << cases.error().line();
  EXPECT_EQ(cases->left_out.at("a copy of DeepSeek-R1's row under another name"), 1);
  std::vector<bool> first;
  for (const ServingCase& one : cases->cases)
    if (one.deployment.gpu.name == "B200") first.push_back(one.measured.contains("ttft"));
  EXPECT_EQ(first, (std::vector<bool>{false, true, true}));
}

// Every row read is judged or declined, and the report says how many.
TEST(ServingCasesTest, ReportCountsRows) {
  std::vector<EndToEndResult> results;
  for (const char* mode : {"agg", "agg", "disagg"})
    for (const char* quantity : {"ttft", "tpot"}) {
      EndToEndResult r;
      r.label = {"silicon", "B200", "trtllm", "Llama-3.1-70B", mode, "fp8, tp 2, 1024/1024", 8, 1024};
      r.quantity = quantity, r.measured = 1, r.forecast = mode == std::string("agg") ? 1.1 : 3;
      results.push_back(r);
    }
  for (EndToEndResult& r : row_counts("silicon", 3, {{"a copy", 4}, {"unknown GPU 'x'", 2}}))
    results.push_back(std::move(r));
  const std::string report = end_to_end_report(results);
  EXPECT_NE(report.find("| judged: agg | 2 |"), std::string::npos) << report;
  EXPECT_NE(report.find("| judged: disagg | 1 |"), std::string::npos);
  EXPECT_NE(report.find("| declined: a copy | 4 |"), std::string::npos);
  EXPECT_NE(report.find("| silicon | judged | 3 |"), std::string::npos);
  EXPECT_NE(report.find("| silicon | left out: unknown GPU 'x' | 2 |"), std::string::npos);
  EXPECT_NE(report.find("| **read** | 9 |"), std::string::npos);
  // Pools apart do not count among the models asked for.
  EXPECT_NE(report.find("| tpot | 2 | 10.0 % |"), std::string::npos);
}

}  // namespace
}  // namespace tilecast
