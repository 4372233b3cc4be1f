// The shipped descriptions: complete, sourced, and in agreement with what vendors publish.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "gpu/embedded_gpus.h"
#include "gpu/gpu_file.h"
#include "gpu/registry.h"
#include "support/text.h"

namespace tilecast {
namespace {

using namespace nlohmann::literals;

TEST(GpuData, EveryFileParses) {
  for (const EmbeddedFile& file : embedded_gpu_files()) {
    const auto gpu = parse_gpu(file.text, std::string(file.name), [](std::string_view) { return error("no like"); });
    ASSERT_TRUE(gpu) << gpu.error().line();
    EXPECT_EQ(name_key(gpu->name + ".json"), name_key(file.name));
  }
}

TEST(GpuData, TheListIsComplete) {
  for (const char* name : {"P4",
                           "P100-PCIe",
                           "V100-PCIe",
                           "V100-SXM",
                           "T4",
                           "RTX 2080 Ti",
                           "A10",
                           "A30",
                           "A40",
                           "RTX A6000",
                           "RTX 3090",
                           "A100-PCIe-40GB",
                           "A100-SXM-40GB",
                           "A100-PCIe-80GB",
                           "A100-SXM-80GB",
                           "A800-SXM",
                           "RTX 4090",
                           "RTX 6000 Ada",
                           "L4",
                           "L20",
                           "L40",
                           "L40S",
                           "H20",
                           "H100-PCIe",
                           "H100-SXM",
                           "H100-NVL",
                           "H800",
                           "H200",
                           "GH200",
                           "RTX 5090",
                           "RTX PRO 6000 Blackwell Workstation",
                           "RTX PRO 6000 Blackwell Server",
                           "B200",
                           "GB200",
                           "B300",
                           "GB300",
                           "MI100",
                           "MI210",
                           "MI250",
                           "MI300X",
                           "MI308X",
                           "MI325X",
                           "MI355X",
                           "Arc Pro B60"})
    EXPECT_TRUE(find_gpu(name)) << name;
}

// parse_gpu already refuses a file whose peaks disagree by more than 2 %; here every card must have peaks to compare,
// and well-known ones are spelled out so that a consistent pair of mistakes cannot slip through.
TEST(GpuData, PeaksAgreeWithTheVendors) {
  for (const EmbeddedFile& file : embedded_gpu_files())
    EXPECT_NE(file.text.find("\"published_peak_tflops\""), std::string_view::npos) << file.name;
  struct Known {
    const char* gpu;
    DType input, accumulate;
    double tflops;
  };
  for (const Known& known :
       {Known{"V100-SXM", DType::fp16, DType::fp32, 125}, Known{"T4", DType::fp16, DType::fp32, 65},
        Known{"A100-SXM-80GB", DType::bf16, DType::fp32, 312}, Known{"A100-SXM-80GB", DType::int8, DType::int32, 624},
        Known{"RTX-4090", DType::fp16, DType::fp32, 165.2}, Known{"RTX-4090", DType::fp16, DType::fp16, 330.3},
        Known{"L40S", DType::bf16, DType::fp32, 362}, Known{"L40S", DType::fp8, DType::fp32, 733},
        Known{"L4", DType::bf16, DType::fp32, 121}, Known{"H20", DType::bf16, DType::fp32, 148},
        Known{"H100-SXM", DType::bf16, DType::fp32, 989.4}, Known{"H200-SXM", DType::fp8, DType::fp32, 1979},
        Known{"B200", DType::bf16, DType::fp32, 2250}, Known{"GB200", DType::fp4, DType::fp32, 10000},
        Known{"MI300X", DType::bf16, DType::fp32, 1307.4}, Known{"MI308X", DType::fp8, DType::fp32, 688},
        Known{"MI210", DType::fp32, DType::fp32, 45.3}}) {
    const auto gpu = find_gpu(known.gpu);
    ASSERT_TRUE(gpu) << known.gpu;
    const double derived = in_teraops_per_second(gpu->tensor_peak(known.input, known.accumulate, gpu->clock.quoted));
    EXPECT_NEAR(derived, known.tflops, 0.02 * known.tflops) << known.gpu << " " << name_of(known.input);
  }
}

TEST(GpuData, ClocksAndCaches) {
  EXPECT_DOUBLE_EQ(in_megahertz(find_gpu("H100")->clock.quoted), 1830);
  EXPECT_DOUBLE_EQ(in_megahertz(find_gpu("H100")->clock.max), 1980);
  EXPECT_DOUBLE_EQ(in_bytes(find_gpu("L40S")->l2.size), 96.0 * 1024 * 1024);
  EXPECT_EQ(find_gpu("P4")->sms, 20);
  EXPECT_DOUBLE_EQ(find_gpu("P4")->vector_per_clock[static_cast<std::size_t>(DType::fp32)], 256);
}

TEST(GpuData, EveryFigureHasASource) {
  for (const Gpu& gpu : built_in_gpus()) {
    std::string covered;
    for (const auto& [fields, source] : gpu.sources) {
      EXPECT_FALSE(source.empty()) << gpu.name << " " << fields;
      covered += fields + ",";
    }
    for (const char* field : {"sms", "clock_mhz", "power_w", "registers_per_sm", "shared_memory", "max_threads_per_sm",
                              "max_ctas_per_sm", "l2", "dram", "links", "vector_ops_per_clock_per_sm"})
      EXPECT_THAT(covered, testing::HasSubstr(field)) << gpu.name;
  }
}

TEST(GpuData, NoNameMeansTwoGpus) {
  std::set<std::string> keys;
  for (const Gpu& gpu : built_in_gpus()) {
    std::set<std::string> own = {name_key(gpu.name)};
    for (const std::string& alias : gpu.aliases) own.insert(name_key(alias));
    for (const std::string& key : own) EXPECT_TRUE(keys.insert(key).second) << gpu.name << " " << key;
  }
}

// What software makes of a card is in its file, so that a card of another name is still that card.
TEST(GpuData, SaysWhatItsNameWouldSay) {
  for (const Gpu& gpu : built_in_gpus()) {
    const auto file = nlohmann::json::parse(*built_in_gpu_text(gpu.name));
    EXPECT_TRUE(file.contains("/dram/ecc"_json_pointer)) << gpu.name;
    EXPECT_TRUE(gpu.vllm_limits) << gpu.name;
    for (const char* field : {"dram.ecc", "vllm"}) EXPECT_TRUE(gpu.sources.contains(field)) << gpu.name << " " << field;
  }
  EXPECT_FALSE(find_gpu("RTX-4090")->dram.ecc);
  EXPECT_TRUE(find_gpu("L40S")->dram.ecc);
  EXPECT_TRUE(find_gpu("GH200")->grace_host);
  EXPECT_FALSE(find_gpu("H200-SXM")->grace_host);
  // vLLM's get_batch_defaults: 70 GiB and more, unless it is an A100.
  EXPECT_EQ(find_gpu("H100-SXM")->vllm_limits->sequences, 1024);
  EXPECT_EQ(find_gpu("A800-SXM")->vllm_limits->sequences, 1024);
  EXPECT_EQ(find_gpu("A100-SXM-80GB")->vllm_limits->sequences, 256);
  EXPECT_EQ(find_gpu("L40S")->vllm_limits->tokens, 2048);
}

}  // namespace
}  // namespace tilecast
