#include "lab/import/source_mapping.h"

#include <gtest/gtest.h>

#include <array>

namespace tilecast {
namespace {

constexpr std::array<NameRule, 2> kGpus = {{{"our A100", "A100-SXM-40GB"}, {"B300-old", "", "its clock was wrong"}}};
constexpr std::array<NameRule, 2> kModels = {{{"LLAMA2-7B", "Llama-2-7B"}, {"LLAMA2-7B (drop)", "", "drops tokens"}}};
constexpr std::array<NameRule, 1> kFormats = {{{"BFLOAT", "bf16"}}};
constexpr std::array<NameRule, 1> kEngines = {{{"vLLM", "vllm"}}};
constexpr std::array<std::string_view, 2> kAround = {"DGX-", " (CI)"};
constexpr std::array<std::string_view, 1> kFiles = {"x/*.csv"};
constexpr SourceMapping kSource{.name = "test",
                                .from = "here",
                                .licence = "none",
                                .files = kFiles,
                                .gpus = kGpus,
                                .models = kModels,
                                .formats = kFormats,
                                .engines = kEngines,
                                .around_gpu = kAround};

TEST(SourceMapping, KnowsCardsByRuleAndByRegistry) {
  EXPECT_EQ(gpu_of(kSource, "our A100")->name, "A100-SXM-40GB");
  EXPECT_EQ(gpu_of(kSource, "A100")->name, "A100-SXM-80GB");
  EXPECT_EQ(gpu_of(kSource, "DGX-B300")->name, "B300");
  EXPECT_EQ(gpu_of(kSource, "DGX-GB200")->name, "GB200");
  EXPECT_EQ(gpu_of(kSource, "H100 (CI)")->name, "H100-SXM");
  EXPECT_EQ(gpu_of(kSource, "H100 80GB HBM3")->name, "H100-SXM");
  EXPECT_EQ(gpu_of(kSource, "rtx_pro_6000_server")->name, "RTX-PRO-6000-Blackwell-Server");
}

TEST(SourceMapping, NamesWhatItDoesNotKnow) {
  EXPECT_EQ(gpu_of(kSource, "DGX-X900").error().problem, "unknown GPU 'DGX-X900'");
  EXPECT_EQ(gpu_of(kSource, "").error().problem, "unknown GPU ''");
  EXPECT_EQ(gpu_of(kSource, "B300-old").error().problem, "'B300-old': its clock was wrong");
  EXPECT_EQ(*model_name_of(kSource, "LLAMA2-7B"), "Llama-2-7B");
  EXPECT_EQ(*model_name_of(kSource, "meta-llama/Llama-2-7b-hf"), "meta-llama/Llama-2-7b-hf");
  EXPECT_EQ(model_name_of(kSource, "LLAMA2-7B (drop)").error().problem, "'LLAMA2-7B (drop)': drops tokens");
  EXPECT_EQ(model_name_of(kSource, "Llama-99").error().problem, "unknown model 'Llama-99'");
  EXPECT_EQ(model_name_of(kSource, "/etc/passwd").error().problem, "unknown model '/etc/passwd'");
  EXPECT_EQ(format_of(kSource, "BFLOAT")->name, "bf16");
  EXPECT_EQ(format_of(kSource, "fp8_block")->name, "fp8_block");
  EXPECT_EQ(format_of(kSource, "fp7").error().problem, "unknown format 'fp7'");
  EXPECT_EQ(*engine_name_of(kSource, "vLLM"), "vllm");
  EXPECT_EQ(engine_name_of(kSource, "vllm").error().problem, "unknown engine 'vllm'");
}

TEST(SourceMapping, ReasonsAreFitToPrintAndFew) {
  EXPECT_EQ(unknown_name("GPU", "a\x1b[2J").problem, "unknown GPU 'a\\x1b[2J'");
  EXPECT_LT(unknown_name("GPU", std::string(5000, 'x')).problem.size(), 120u);
  LeftOutRows rows;
  for (int i = 0; i < 5000; ++i) leave_out(rows, "reason " + std::to_string(i));
  leave_out(rows, "reason 1", 7);
  EXPECT_LE(rows.size(), 1001u);
  EXPECT_EQ(rows.at("reason 1"), 8);
  Count all = 0;
  for (const auto& [why, count] : rows) all += count;
  EXPECT_EQ(all, 5007);
}

TEST(SourceMapping, PatternsHaveStars) {
  EXPECT_TRUE(fits_pattern("gemm.csv.gz", "*.csv.gz"));
  EXPECT_TRUE(fits_pattern("custom_allreduce.csv.gz", "*allreduce*"));
  EXPECT_TRUE(fits_pattern("nccl.csv", "nccl*"));
  EXPECT_TRUE(fits_pattern("", "*"));
  EXPECT_FALSE(fits_pattern("gemm.csv", "*.csv.gz"));
  EXPECT_FALSE(fits_pattern("xnccl.csv", "nccl*"));
  EXPECT_FALSE(fits_pattern("", "a"));
}

}  // namespace
}  // namespace tilecast
