#include "lab/evidence/plan_cards.h"

#include <gtest/gtest.h>

#include "estimate/shipped_weights.h"
#include "support/test_files.h"

namespace tilecast {
namespace {

constexpr const char* kHead = "model,gpu,num_gpus,tp,dp_ep,precision,isl,osl,metric,value,engine_version\n";

TEST(PlanCards, TheBestRowOfACardAndALoad) {
  const TestFolder folder;
  const auto rows = card_rows(
      folder.plain("t.csv", std::string(kHead) +
                                "GPT-OSS 120B,B200,2,1,DEP2,FP4,1024,1024,output_throughput_per_gpu,25870,1.1\n"
                                "GPT-OSS 120B,B200,1,1,,FP4,1024,1024,output_throughput_per_gpu,20000,1.1\n"
                                "Llama 4 Scout,H100,4,4,,FP8,1000,1000,output_throughput,8000,1.0\n"
                                "Llama 4 Scout,H100,4,4,,FP8,1000,1000,ttft,80,1.0\n"
                                "Llama 4 Scout,A100,4,4,,FP8,1000,1000,output_throughput,8000,1.0\n"
                                "Llama 4 Scout,H100,4,4,,FP8,1000,2000,output_throughput,8000,0.20\n"),
      true);
  ASSERT_TRUE(rows) << rows.error().line();
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0].gpu, "H100-SXM");
  EXPECT_EQ((*rows)[0].measured, 2000);
  EXPECT_EQ((*rows)[0].layout, "TP4");
  EXPECT_EQ((*rows)[1].model, "gpt-oss-120b");
  EXPECT_EQ((*rows)[1].measured, 25870);
  EXPECT_EQ((*rows)[1].gpus, 2);
  EXPECT_FALSE(card_rows(folder.plain("none.csv", kHead)));
  EXPECT_FALSE(card_rows(folder.plain("odd.csv", "model,gpu\n")));
}

TEST(PlanCards, TheSameChipBesideAnotherHost) {
  CardRow slow;
  slow.model = "Llama-4-Scout", slow.gpu = "B200", slow.layout = "1", slow.input = slow.output = 1000;
  slow.measured = 10591;
  CardRow slow_too = slow;
  slow_too.gpu = "GB200", slow_too.measured = 7738;
  CardRow fast = slow, fast_too = slow_too;
  fast.input = fast_too.input = 128, fast_too.measured = 11000;
  const std::string text = card_report({}, {slow, slow_too, fast, fast_too});
  EXPECT_NE(text.find("Of 2 loads that both were measured at"), std::string::npos) << text;
  EXPECT_NE(text.find("| Llama-4-Scout | 1000, 1000 | 1 | 10591 | 7738 | 0.73 |"), std::string::npos) << text;
  EXPECT_EQ(text.find("| Llama-4-Scout | 128,"), std::string::npos) << text;
  EXPECT_EQ(card_report({}).find("GB200"), std::string::npos);
}

// gpt-oss runs on one H200 or one B200; the B200 has more tokens per GPU, planned as measured.
TEST(PlanCards, GptOssIsPlannedOntoTheFasterCard) {
  const TestFolder folder;
  auto rows =
      card_rows(folder.plain("t.csv", std::string(kHead) +
                                          "GPT-OSS 120B,B200,1,1,,FP4,1024,1024,output_throughput_per_gpu,25870,1.1\n"
                                          "GPT-OSS 120B,H200,1,1,,FP8,1024,1024,output_throughput_per_gpu,6798,1.1\n"),
                true);
  ASSERT_TRUE(rows);
  plan_cards(*rows, shipped_models());
  ASSERT_EQ(rows->size(), 2u);
  for (const CardRow& row : *rows) ASSERT_TRUE(row.planned) << row.gpu << " " << row.why_not;
  EXPECT_GT((*rows)[0].planned->throughput, (*rows)[1].planned->throughput);
  EXPECT_NE(card_report(*rows).find("| gpt-oss-120b | 1024, 1024 | B200, H200-SXM | B200 | B200 |"), std::string::npos)
      << card_report(*rows);
}

}  // namespace
}  // namespace tilecast
