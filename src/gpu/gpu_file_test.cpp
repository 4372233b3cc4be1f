// Descriptions that cannot be true are refused with file, field and reason.
#include "gpu/gpu_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "gpu/registry.h"
#include "support/test_files.h"

namespace tilecast {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

Json valid() { return Json::parse(*built_in_gpu_text("H100-SXM")); }

std::string failure_of(const std::string& text) {
  const auto gpu = parse_gpu(text, "mine.json", built_in_gpu_text);
  return gpu ? "accepted" : gpu.error().line();
}
std::string failure_of(const Json& json) { return failure_of(json.dump()); }

TEST(GpuFile, TheUnchangedDescriptionIsAccepted) { EXPECT_EQ(failure_of(valid()), "accepted"); }

TEST(GpuFile, NamesFileFieldAndReason) {
  Json gpu = valid();
  gpu["sms"] = 0;
  EXPECT_THAT(failure_of(gpu), testing::StartsWith("mine.json: sms: must lie between 1"));
}

TEST(GpuFile, RefusesImpossibleFigures) {
  const auto with = [](const char* pointer, Json value) {
    Json gpu = valid();
    gpu[Json::json_pointer(pointer)] = std::move(value);
    return failure_of(gpu);
  };
  EXPECT_THAT(with("/sms", -4), HasSubstr("sms"));
  EXPECT_THAT(with("/sms", 12.5), HasSubstr("whole number"));
  EXPECT_THAT(with("/sms", "132"), HasSubstr("must be a number"));
  EXPECT_THAT(with("/dram/gb_per_s", -1), HasSubstr("dram.gb_per_s"));
  EXPECT_THAT(with("/clock_mhz/max", 1000), HasSubstr("below the quoted clock"));
  EXPECT_THAT(with("/shared_memory/per_cta_kib", 512), HasSubstr("shared_memory.per_cta_kib"));
  EXPECT_THAT(with("/vector_ops_per_clock_per_sm/xu", 0), HasSubstr("must lie between 0.001"));
  EXPECT_THAT(with("/vector_ops_per_clock_per_sm/xu", 1e-308), HasSubstr("must lie between 0.001"));
  EXPECT_THAT(with("/architecture", "hooper"), HasSubstr("unknown architecture"));
  EXPECT_THAT(with("/vendor", "ACME"), HasSubstr("vendor"));
}

TEST(GpuFile, RefusesMissingFields) {
  for (const char* field : {"name", "vendor", "sms", "clock_mhz", "l2", "dram", "links", "registers_per_sm"}) {
    Json gpu = valid();
    gpu.erase(field);
    EXPECT_THAT(failure_of(gpu), HasSubstr(field));
  }
}

TEST(GpuFile, RefusesUnknownFieldsWithASuggestion) {
  Json gpu = valid();
  gpu["sm"] = 132;
  EXPECT_THAT(failure_of(gpu), HasSubstr("sm: unknown field (did you mean sms"));
  gpu = valid();
  gpu["dram"]["gbps"] = 1;
  EXPECT_THAT(failure_of(gpu), HasSubstr("dram.gbps: unknown field"));
}

TEST(GpuFile, RefusesPeaksThatContradictTheRest) {
  Json gpu = valid();
  gpu["sms"] = 144;
  EXPECT_THAT(failure_of(gpu), HasSubstr("contradicts the rest"));
}

TEST(GpuFile, RefusesWhatIsNotJson) {
  EXPECT_THAT(failure_of(std::string("{\"name\": ")), HasSubstr("mine.json: is not valid JSON"));
  EXPECT_THAT(failure_of(std::string("")), HasSubstr("is not valid JSON"));
  EXPECT_THAT(failure_of(std::string("[1]")), HasSubstr("must be a JSON object"));
  EXPECT_THAT(failure_of(std::string("{\"sms\": 1e999}")), HasSubstr("not valid JSON"));
}

TEST(GpuFile, AHypotheticalGpuIsFiveLines) {
  const auto gpu = parse_gpu(R"({
    "like": "H100-SXM",
    "name": "H100 with twice the bandwidth",
    "sms": 160,
    "dram": {"gb_per_s": 6700}
  })",
                             "mine.json", built_in_gpu_text);
  ASSERT_TRUE(gpu) << gpu.error().line();
  EXPECT_EQ(gpu->sms, 160);
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(gpu->dram.bandwidth), 6700);
  EXPECT_DOUBLE_EQ(in_gibibytes(gpu->dram.size), 80);  // not overridden
  EXPECT_TRUE(gpu->published_peaks.empty());           // those of another card
}

// Two cards of one name could not be told apart in a table; the card itself, calibrated, keeps its name.
TEST(GpuFile, AnotherCardHasAnotherName) {
  for (const char* name : {"H100-SXM", "h100 sxm", "H100"})
    EXPECT_THAT(failure_of(R"({"like": "H100-SXM", "sms": 144, "name": ")" + std::string(name) + "\"}"),
                testing::AllOf(HasSubstr("mine.json: name: "), HasSubstr("(another name")));
  EXPECT_TRUE(parse_gpu(R"({"like": "H100-SXM", "name": "H100-SXM"})", "mine.json", built_in_gpu_text));
}

TEST(GpuFile, LikeAnUnknownGpu) {
  EXPECT_THAT(failure_of(std::string(R"({"like": "H1000", "name": "x"})")), HasSubstr("mine.json: like: unknown GPU"));
}

TEST(Registry, ForgivesCaseAndPunctuation) {
  EXPECT_EQ(find_gpu("h100_sxm")->name, "H100-SXM");
  EXPECT_EQ(find_gpu("rtx pro 6000 blackwell server")->name, "RTX-PRO-6000-Blackwell-Server");
}

TEST(Registry, SuggestsOnAMiss) {
  const auto gpu = find_gpu("H10 SXM");
  ASSERT_FALSE(gpu);
  EXPECT_THAT(gpu.error().line(), HasSubstr("H100-SXM"));
  EXPECT_THAT(find_gpu("H1000").error().line(), HasSubstr("did you mean H100"));  // an alias
  EXPECT_EQ(find_gpu("H100,B200").error().line(), "'H100,B200' is more than one GPU (name one)");
}

TEST(Registry, LoadsFilesAndNamesThemInErrors) {
  EXPECT_THAT(load_gpu("/nonexistent/gpu.json").error().line(), HasSubstr("/nonexistent/gpu.json: no such file"));
  const TestFolder folder;
  const auto gpu = load_gpu(folder.plain("mine.json", R"({"like": "B200", "name": "B200-half", "sms": 74})"));
  ASSERT_TRUE(gpu) << gpu.error().line();
  EXPECT_EQ(gpu->sms, 74);
  EXPECT_FALSE(gpu->built_in);
}

TEST(GpuFile, RefusesWhatIsNeitherTrueNorFalse) {
  Json gpu = valid();
  gpu["dram"]["ecc"] = "on";
  EXPECT_THAT(failure_of(gpu), HasSubstr("dram.ecc: must be true or false"));
  gpu = valid();
  gpu["grace_host"] = 1;
  EXPECT_THAT(failure_of(gpu), HasSubstr("grace_host: must be true or false"));
  gpu = valid();
  gpu["vllm"] = {{"max_num_seqs", 0}, {"max_num_batched_tokens", 8192}};
  EXPECT_THAT(failure_of(gpu), HasSubstr("vllm.max_num_seqs"));
  gpu["vllm"] = {{"max_num_seqs", 256}};
  EXPECT_THAT(failure_of(gpu), HasSubstr("vllm.max_num_batched_tokens: is missing"));
  gpu["vllm"] = {{"max_num_seq", 256}};
  EXPECT_THAT(failure_of(gpu), HasSubstr("unknown field"));
}

TEST(GpuFile, ADescriptionMadeFromAnotherKnowsItsParent) {
  const auto made = [](const char* text) { return *parse_gpu(text, "mine.json", built_in_gpu_text); };
  const Gpu same = made(R"({"like": "H100-SXM", "name": "SAME", "notes": ["mine"]})");
  ASSERT_TRUE(same.parent);
  EXPECT_EQ(same.parent->name, "H100-SXM");
  EXPECT_TRUE(same.as_parent);
  EXPECT_EQ(same.measured().name, "H100-SXM");
  EXPECT_TRUE(made(R"({"like": "H100-SXM", "name": "SAME", "dram": {"gib": 80}})").as_parent);
  const Gpu more = made(R"({"like": "H100-SXM", "name": "MORE", "sms": 144})");
  EXPECT_FALSE(more.as_parent);
  EXPECT_TRUE(more.inherits());
  EXPECT_EQ(more.vllm_limits->sequences, 1024);
  // Another architecture is another card, whatever it was written down from.
  const Gpu other =
      made(R"({"like": "H100-SXM", "name": "OTHER", "architecture": "blackwell", "compute_capability": "10.0"})");
  EXPECT_FALSE(other.inherits());
  EXPECT_EQ(other.measured().name, "OTHER");
  // vLLM's limits go by the memory, so a card with other memory does not take them over.
  EXPECT_FALSE(made(R"({"like": "H100-SXM", "name": "SMALL", "dram": {"gib": 40}})").vllm_limits);
  EXPECT_FALSE(parse_gpu(valid().dump(), "mine.json", built_in_gpu_text)->parent);
}

TEST(GpuFile, ArchitectureCapabilityAndPipesAgree) {
  const auto line = [](const char* text) {
    const auto gpu = parse_gpu(text, "mine.json", built_in_gpu_text);
    return gpu ? std::string() : gpu.error().line();
  };
  EXPECT_THAT(line(R"({"like": "H100-SXM", "name": "A", "architecture": "ampere"})"),
              HasSubstr("compute_capability: is 9.0, which no card of ampere has"));
  EXPECT_THAT(line(R"({"like": "H100-SXM", "name": "A", "architecture": "ampere", "compute_capability": "8.0"})"),
              HasSubstr("no tensor core of ampere multiplies fp8"));
  EXPECT_EQ(line(R"({"like": "H100-SXM", "name": "A", "architecture": "ampere", "compute_capability": "8.0",
                     "tensor_ops_per_clock_per_sm": {"fp8/fp32": null}})"),
            "");
  EXPECT_THAT(line(R"({"like": "H100-SXM", "name": "A", "compute_capability": "8.6"})"), HasSubstr("hopper"));
}

TEST(GpuFile, LinksOfNothingAreRefused) {
  const auto line = [](const char* text) {
    const auto gpu = parse_gpu(text, "mine.json", built_in_gpu_text);
    return gpu ? std::string() : gpu.error().line();
  };
  EXPECT_THAT(line(R"({"like": "H100-SXM", "name": "L", "links": {"nvlink_gb_per_s": 0}})"),
              HasSubstr("links.nvlink_gb_per_s: is 0, and servers of H100-SXM join their cards by NVLink"));
  EXPECT_THAT(line(R"({"like": "H100-SXM", "name": "L", "links": {"nvlink_gb_per_s": 1e-308}})"),
              HasSubstr("at least 0.01 GB/s"));
  EXPECT_THAT(line(R"({"like": "L40S", "name": "L", "links": {"pcie_gb_per_s": 0}})"), HasSubstr("is 0"));
  EXPECT_EQ(line(R"({"like": "H100-SXM", "name": "L", "links": {"nvlink_gb_per_s": 10}})"), "");
}

}  // namespace
}  // namespace tilecast
