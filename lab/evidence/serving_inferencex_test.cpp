#include <gtest/gtest.h>

#include "lab/evidence/endtoend_report.h"
#include "lab/evidence/serving.h"
#include "lab/evidence/serving_halves.h"
#include "support/test_files.h"

namespace tilecast {
namespace {

constexpr const char* kInferencexHead =
    "gpu,model,precision,engine,engine_version,speculative,disaggregated,dp_attention,isl,osl,concurrency,tp,ep,num_"
    "gpus,"
    "ttft_median_ms,ttft_p99_ms,tpot_median_ms,e2el_median_ms,output_tokens_per_s_per_gpu,settings\n";
constexpr const char* kDeepSeek = "deepseek-ai/DeepSeek-R1-0528,fp8,sglang,0.5.6,none,0,false,1024,1024,";

TEST(InferencexCases, RunsOfAConfigurationAreOneCase) {
  const TestFolder folder;
  const std::string b200 = std::string("B200,") + kDeepSeek;
  const auto read = inferencex_cases(folder.plain(
      "i.csv", std::string(kInferencexHead) + b200 + "16,8,1,8,300,1200,13,9000,140,kv=fp8\n" + b200 +
                   "16,8,1,8,340,1300,14,9100,150,kv=fp8\n" +                       //
                   b200 + "16,8,1,8,320,70000,13.5,9500,90,kv=fp8\n" +              // compiled for a minute
                   b200 + "4,8,1,8,150,70000,8.7,9000,50,kv=fp8\n" +                // nothing but such a run
                   "MI300X," + kDeepSeek + "4,8,1,8,176,3000,26,27000,17,aiter\n" +  //
                   "H200 SXM,openai/gpt-oss-120b,fp4,vllm,0.13.0,none,0,false,8192,1024,4,2,1,2,220,700,5,5000,340,x\n"));
  ASSERT_TRUE(read) << read.error().line();
  ASSERT_EQ(read->cases.size(), 4u);
  EXPECT_EQ(read->rows, 6);
  const ServingCase& one = read->cases[0];
  EXPECT_EQ(one.concurrency, 16);
  ASSERT_EQ(one.requests.size(), 160u);
  for (const Request& r : one.requests) {
    for (const Count tokens : {r.input, r.output}) {  // 0.8 to 1 of 1024
      EXPECT_GE(tokens, 819);
      EXPECT_LE(tokens, 1025);
    }
    EXPECT_EQ(r.arrival.base(), 0);
  }
  EXPECT_NEAR(one.measured.at("ttft median"), 0.320, 1e-12);
  EXPECT_NEAR(one.measured.at("tpot median"), 0.0135, 1e-12);
  EXPECT_NEAR(one.measured.at("e2e median"), 9.1, 1e-12);
  EXPECT_NEAR(one.measured.at("throughput"), 8 * 145, 1e-9);
  EXPECT_EQ(one.deployment.receive_steps, 30);
  EXPECT_FALSE(one.deployment.reuse);
  EXPECT_EQ(one.deployment.engine.precision.cache, CacheType::fp8);
  EXPECT_EQ(read->cases[1].deployment.receive_steps, 10);
  EXPECT_FALSE(read->cases[1].measured.count("throughput"));
  const ServingCase& oss = read->cases[2];
  EXPECT_EQ(oss.label.gpu, "H200-SXM");
  EXPECT_EQ(oss.deployment.max_sequences, 4);
  EXPECT_EQ(oss.deployment.most_captured, 2048);
  EXPECT_TRUE(oss.deployment.experts_kernel.says(KernelSource::Word::marlin));
  EXPECT_EQ(read->cases[3].deployment.receive_steps, 1);  // AMD's
}

TEST(InferencexCases, RowsThatCannotBeSimulatedAreCounted) {
  const TestFolder folder;
  const auto read = inferencex_cases(folder.plain(
      "i.csv", std::string(kInferencexHead) +
                   "B200,deepseek-ai/DeepSeek-R1-0528,fp8,sglang,0.5.6,mtp,0,false,1024,1024,4,8,1,8,1,1,1,1,1,x\n"
                   "B200,deepseek-ai/DeepSeek-R1-0528,fp8,sglang,0.5.6,none,1,false,1024,1024,4,8,1,8,1,1,1,1,1,x\n"
                   "B200,deepseek-ai/DeepSeek-R1-0528,fp8,sglang,0.5.6,none,0,true,1024,1024,4,8,1,8,1,1,1,1,1,x\n"
                   "B200,deepseek-ai/DeepSeek-R1-0528,fp8,sglang,0.5.6,none,0,false,1024,1024,4,8,1,8,,1,1,1,1,x\n"
                   "B200,deepseek-ai/DeepSeek-R1-0528,int3,sglang,0.5.6,none,0,false,1024,1024,4,8,1,8,1,1,1,1,1,x\n"
                   "B200,deepseek-ai/DeepSeek-R1-0528,fp8,sglang,0.5.6,none,0,false,1024,1024,4,8,3,8,1,1,1,1,1,x\n"
                   "X9,deepseek-ai/DeepSeek-R1-0528,fp8,sglang,0.5.6,none,0,false,1024,1024,4,8,1,8,1,1,1,1,1,x\n"));
  ASSERT_TRUE(read) << read.error().line();
  EXPECT_TRUE(read->cases.empty());
  Count rows = 0;
  for (const auto& [why, count] : read->left_out) rows += count;
  EXPECT_EQ(rows, 7);
  EXPECT_EQ(read->left_out.at("speculative decoding"), 1);
  EXPECT_EQ(read->left_out.at("pools apart"), 1);
  EXPECT_EQ(read->left_out.at("ranks do not multiply out"), 1);
}

TEST(ServingHalves, AGroupIsOnOneSideInEveryTable) {
  EndToEndLabel label;
  label.model = "DeepSeek-R1", label.gpu = "B200", label.engine = "sglang", label.source = "silicon";
  EXPECT_EQ(half_of(label), ServingHalf::chosen_on);
  label.source = "inferencex", label.detail = "fp4", label.batch = 64;
  EXPECT_EQ(half_of(label), ServingHalf::chosen_on);
  label.gpu = "H200-SXM";
  EXPECT_EQ(half_of(label), ServingHalf::judged_on);
}

TEST(ServingHalves, TheReportPrintsBoth) {
  std::vector<EndToEndResult> results;
  for (const char* gpu : {"B200", "H200-SXM", "MI300X"})
    for (const char* quantity : {"ttft median", "tpot median"}) {
      EndToEndResult r;
      r.label = {"inferencex", gpu, "sglang", "DeepSeek-R1", "serve", "fp8, tp 8, 1024/1024, 0.5.6", 4, 1024};
      r.quantity = quantity, r.measured = 0.1, r.forecast = 0.11;
      results.push_back(std::move(r));
    }
  const std::string report = end_to_end_report(results);
  EXPECT_NE(report.find("InferenceX's runs"), std::string::npos);
  EXPECT_NE(report.find("AMD's cards, apart"), std::string::npos);
  EXPECT_NE(report.find("| ttft | chosen on | 1 |"), std::string::npos) << report;
  EXPECT_NE(report.find("| ttft | judged on | 2 |"), std::string::npos) << report;
}

}  // namespace
}  // namespace tilecast
