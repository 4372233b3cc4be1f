#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/registry.h"
#include "lab/evidence/serving.h"
#include "model/library.h"
#include "support/test_files.h"

namespace tilecast {
namespace {

constexpr const char* kOverviewHead =
    "source,gpu,num_gpus,tp,pp,dp_ep,model,precision,engine,engine_version,batch_or_concurrency,isl,osl,seqlen,metric,"
    "value,unit,notes\n";
constexpr const char* kEndless = ",tokens/s,\"infinite request rate, inflight batching\"\n";

std::string overview_row(const char* gpu, int tp, const char* model, const char* precision, const char* release,
                         const char* lengths, const char* metric, const char* value) {
  const std::string ranks = std::to_string(tp);
  return std::string("x,") + gpu + "," + ranks + "," + ranks + ",1,," + model + "," + precision + ",TensorRT-LLM," +
         release + ",max(offline)," + lengths + ",," + metric + "," + value + kEndless;
}

TEST(OverviewCases, TheNewestReleaseOfAConfigurationIsTheCase) {
  const TestFolder folder;
  const auto read = overview_cases(
      folder.plain(
          "o.csv",
          kOverviewHead +
              overview_row("H100 80GB HBM3", 2, "LLaMA v3.1 70B", "FP8", "0.9.0", "1000,1000", "output_throughput",
                           "3000") +
              overview_row("H100 80GB HBM3", 2, "LLaMA v3.1 70B", "FP8", "0.14.0", "1000,1000", "output_throughput",
                           "4000") +
              // the same names of another table, a figure of each GPU
              overview_row("H100", 2, "Llama 3.1 70B", "FP8", "1.0", "1000,1000", "output_throughput_per_gpu", "2500") +
              overview_row("B200", 1, "Llama 3.1 8B", "FP4", "1.1", "20000,2000", "output_throughput", "700")),
      1);
  ASSERT_TRUE(read) << read.error().line();
  ASSERT_EQ(read->cases.size(), 2u);
  EXPECT_EQ(read->left_out.at("an older release"), 2);
  const ServingCase& long_prompts = read->cases[0];
  EXPECT_EQ(long_prompts.label.gpu, "B200");
  EXPECT_EQ(long_prompts.requests.size(), 1000u);  // as its pages say
  DeploymentOptions benchmark = long_prompts.deployment;
  benchmark.max_tokens = 0;
  set_bench_limits(benchmark, 20000, 2000);
  EXPECT_EQ(long_prompts.deployment.max_tokens, benchmark.max_tokens);
  EXPECT_LT(long_prompts.deployment.max_tokens, 20000);
  const ServingCase& one = read->cases[1];
  EXPECT_EQ(one.label.gpu, "H100-SXM");
  EXPECT_DOUBLE_EQ(one.measured.at("throughput"), 5000);
  EXPECT_EQ(one.requests.size(), 3000u);
  ASSERT_TRUE(one.deployment.spread);
  EXPECT_EQ(one.deployment.spread->layout.tp, 2);
  EXPECT_EQ(one.deployment.engine.precision.cache, CacheType::fp8);
}

// Of releases whose pages do not say how they were run, the engine's own limits, or two prompts.
TEST(OverviewCases, OlderReleasesHaveTheEnginesLimits) {
  const TestFolder folder;
  const auto read = overview_cases(
      folder.plain("o.csv",
                   kOverviewHead +
                       overview_row("H100", 1, "LLaMA v3 8B", "FP8", "0.14.0", "1000,1000", "output_throughput", "9") +
                       overview_row("H100", 1, "LLaMA v3 8B", "FP8", "0.14.0", "20000,2000", "output_throughput", "9")),
      1);
  ASSERT_TRUE(read) << read.error().line();
  ASSERT_EQ(read->cases.size(), 2u);
  EXPECT_EQ(read->cases[0].deployment.max_tokens, 0);
  EXPECT_EQ(read->cases[0].requests.size(), 2000u);  // four million tokens
  EXPECT_EQ(read->cases[1].deployment.max_tokens, 40000);
}

// By hand: 80 GiB less 8.03e9 bytes of weights, 0.95 of it, in requests of 2000 tokens of 65,536 bytes.
TEST(OverviewCases, LimitsAreThoseThatTheBenchmarkFinds) {
  DeploymentOptions d;
  d.model = *find_model("Llama-3.1-8B");
  d.gpu = *load_gpu("H100-SXM");
  d.engine.kind = EngineKind::trtllm, d.engine.precision = *precision_from("fp8", "fp8");
  set_bench_limits(d, 1000, 1000);  // 564 requests
  EXPECT_EQ(d.max_sequences, 640);
  EXPECT_EQ(d.max_tokens, 2048);
  set_bench_limits(d, 2048, 128);  // 518 requests, 8810 tokens
  EXPECT_EQ(d.max_sequences, 640);
  EXPECT_EQ(d.max_tokens, 9216);
  set_bench_limits(d, 20000, 2000);  // 51
  EXPECT_EQ(d.max_sequences, 64);
  EXPECT_EQ(d.max_tokens, 2048);
  EXPECT_TRUE(d.chunked_prefill.value_or(false));  // a prompt is longer
}

TEST(OverviewCases, RowsThatSayTooLittleAreCounted) {
  const TestFolder folder;
  const auto read = overview_cases(
      folder.plain("o.csv",
                   kOverviewHead +
                       overview_row("H100", 8, "Llama 4 Maverick", "FP8", "1.0", "128,128", "output_throughput", "9") +
                       overview_row("H100", 1, "LLaMA v3 8B", "Mixed", "0.15.0", "128,128", "output_throughput", "9") +
                       overview_row("H100", 1, "Llama 3.1 70B", "FP16", "1.0", "128,128", "output_throughput", "9")),
      1);
  ASSERT_TRUE(read) << read.error().line();
  EXPECT_TRUE(read->cases.empty());
  EXPECT_EQ(read->left_out.at("attention dp not said"), 1);
  EXPECT_EQ(read->left_out.at("formats differ between layers, and which is not said"), 1);
  EXPECT_EQ(read->left_out.at("does not fit as said"), 1);
}

}  // namespace
}  // namespace tilecast
