#include "tilecast/gpu.h"

#include <fstream>

#include "api/arguments_testing.h"
#include "support/test_files.h"

namespace tilecast {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(GpuApi, AnH100AsItsDataSheetHasIt) {
  const auto gpu = describe_gpu({.name = "nvidia h100 80gb hbm3"});
  ASSERT_TRUE(gpu.ok()) << gpu.error().line();
  EXPECT_EQ(gpu->name, "H100-SXM");
  EXPECT_EQ(gpu->architecture, "hopper");
  EXPECT_EQ(gpu->compute_capability, "9.0");
  EXPECT_TRUE(gpu->built_in);
  EXPECT_FALSE(gpu->calibrated);
  EXPECT_EQ(gpu->sms, 132);
  EXPECT_NEAR(in_teraops_per_second(gpu->peak("tensor bf16/fp32")), 989.4, 0.1);
  EXPECT_EQ(in_teraops_per_second(gpu->tensor_peak("bf16")), in_teraops_per_second(gpu->peak("tensor bf16/fp32")));
  EXPECT_EQ(gpu->peak("tensor fp128/fp128").base(), 0);
  EXPECT_EQ(gpu->sm.registers, 65536);
  EXPECT_EQ(in_bytes(gpu->sm.shared_memory), 228 * 1024);
  EXPECT_NEAR(in_gigabytes_per_second(gpu->dram_rate), 3352, 10);
  EXPECT_NEAR(in_gigabytes_per_second(gpu->nvlink), 450, 1);
  EXPECT_FALSE(gpu->sources.empty());
}

// GeForce cards multiply twice as fast where they add up in 16 bits, which is not what a model's products do.
TEST(GpuApi, PeaksInListsAreThoseOfProductsThatAddUpIn32Bits) {
  for (const char* name : {"RTX-4090", "RTX-5090", "RTX-3090"}) {
    const auto gpu = describe_gpu({.name = name});
    ASSERT_TRUE(gpu.ok());
    EXPECT_EQ(gpu->tensor_peak("bf16").base(), gpu->peak("tensor bf16/fp32").base()) << name;
    EXPECT_EQ(gpu->tensor_peak("fp16").base(), gpu->peak("tensor fp16/fp32").base()) << name;
  }
  const auto ada = describe_gpu({.name = "RTX-4090"});
  EXPECT_NEAR(in_teraops_per_second(ada->tensor_peak("bf16")), 165.2, 0.5);
  EXPECT_NEAR(in_teraops_per_second(ada->tensor_peak("fp8")), 330.3, 1);
}

TEST(GpuApi, AMultiplyAddIsTwoOperations) {
  for (const GpuInfo& gpu : known_gpus())
    for (const GpuPeak& peak : gpu.peaks) {
      if (!peak.published) continue;
      EXPECT_NEAR(peak.rate / *peak.published, 1, 0.03) << gpu.name << " " << peak.mode;
    }
}

TEST(GpuApi, KnownOnesAreFoundByTheirNames) {
  const auto all = known_gpus();
  ASSERT_GT(all.size(), 20u);
  for (const GpuInfo& gpu : all) {
    const auto found = describe_gpu({.name = gpu.name});
    ASSERT_TRUE(found.ok()) << found.error().line();
    EXPECT_EQ(found->name, gpu.name);
    EXPECT_EQ(found->sms, gpu.sms);
  }
}

TEST(GpuApi, PricesAreOfCardsOnAList) {
  const auto listed = describe_gpu({.name = "H100-SXM"}),
             own = describe_gpu({.name = R"({"like": "H100-SXM", "name": "Half"})"});
  ASSERT_TRUE(listed.ok() && own.ok());
  EXPECT_GT(listed->usd_per_hour.value_or(0), 0);
  EXPECT_FALSE(listed->price_source.empty());
  EXPECT_FALSE(own->usd_per_hour) << "nobody rents a card that somebody described";
}

TEST(GpuApi, DescribedByTextOrFile) {
  const std::string text = R"({"like": "H100-SXM", "name": "Half", "sms": 66, "notes": ["a/b"]})";
  const TestFolder folder;
  for (const std::string& given : {text, "\n  " + text, folder.plain("half.json", text)}) {
    const auto gpu = describe_gpu({.name = given});
    ASSERT_TRUE(gpu.ok()) << gpu.error().line();
    EXPECT_EQ(gpu->name, "Half");
    EXPECT_EQ(gpu->sms, 66);
    EXPECT_FALSE(gpu->built_in);
  }
}

TEST(GpuApi, ErrorsNameWhatIsWrong) {
  EXPECT_THAT(line_of(describe_gpu({})), StartsWith("name: is missing"));
  EXPECT_THAT(line_of(describe_gpu({.name = "H10"})), HasSubstr("did you mean"));
  EXPECT_THAT(line_of(describe_gpu({.name = R"({"like": "H100-SXM", "name": "x", "sms": 0})"})),
              HasSubstr("sms: must lie between 1 and"));
  EXPECT_THAT(line_of(describe_gpu({.name = "{"})), HasSubstr("is not valid JSON"));
  EXPECT_THAT(line_of(describe_gpu({.name = "/nowhere/gpu.json"})), HasSubstr("/nowhere/gpu.json: no such file"));
}

TEST(GpuApi, NumberFormats) {
  const auto all = number_formats();
  const auto find = [&](std::string_view name) {
    for (const NumberFormat& format : all)
      if (format.name == name) return format;
    ADD_FAILURE() << name;
    return NumberFormat{};
  };
  EXPECT_EQ(find("bf16").weight_bits, 16);
  EXPECT_EQ(find("bf16").accumulate, "fp32");
  EXPECT_FALSE(find("bf16").quantises);
  EXPECT_EQ(find("fp8").math, "fp8");
  EXPECT_TRUE(find("fp8").quantises);
  EXPECT_LT(find("int4_wo").weight_bits, 5);
}

TEST(GpuApi, Arguments) {
  expect_round_trip(GpuQuery{.name = "H200-SXM"});
  expect_examples_taken<GpuQuery>();
}

}  // namespace
}  // namespace tilecast
