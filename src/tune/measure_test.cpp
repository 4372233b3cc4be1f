#include "tune/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "gpu/registry.h"
#include "tune/engine_file.h"

namespace tilecast {
namespace {

using testing::HasSubstr;

const std::vector<TritonConfig> kAsked = {
    {16, 64, 128, 1, 4, 4}, {32, 64, 128, 1, 4, 3}, {64, 64, 64, 1, 4, 3}, {128, 128, 64, 1, 8, 3}};

TEST(TuneMeasure, ReadsTimesAndFailures) {
  const MeasuredConfigs found = read_measured(
      "warming up\n16,64,128,1,4,4 15.25\n32,64,128,1,4,3  failed out of resource: shared memory\n64,64,64,1,4,3 "
      "fast\r\n"
      "99,1,1,1,1,1 2\n",
      kAsked);
  ASSERT_EQ(found.size(), 4u);
  EXPECT_DOUBLE_EQ(in_microseconds(*found.at(kAsked[0]).time), 15.25);
  EXPECT_EQ(found.at(kAsked[1]).problem, "out of resource: shared memory");
  EXPECT_EQ(found.at(kAsked[2]).problem, "'fast' is not a time");
  EXPECT_EQ(found.at(kAsked[3]).problem, "not in the command's output");
  for (const char* bad : {"16,64,128,1,4,4 -3", "16,64,128,1,4,4 nan", "16,64,128,1,4,4 0", "16,64,128,1,4,4",
                          "16,64,128,1,4,4 ", "16,64,128,1,4,4 1e300"})
    EXPECT_FALSE(read_measured(bad, kAsked).at(kAsked[0]).time) << bad;
}

TEST(TuneMeasure, CommandsThatFail) {
  using namespace std::chrono_literals;
  EXPECT_EQ(*output_of("echo a", 5s), "a\n");
  EXPECT_THAT(output_of("exit 3", 5s).error().line(), HasSubstr("ended with status 3"));
  EXPECT_THAT(output_of("kill -9 $$", 5s).error().line(), HasSubstr("signal 9"));
  EXPECT_THAT(output_of("/no/such/command 2>/dev/null", 5s).error().line(), HasSubstr("status 127"));
  EXPECT_THAT(output_of("yes", 5s).error().line(), HasSubstr("1 MiB"));
  const auto before = std::chrono::steady_clock::now();
  // What the command started holds the pipe open; it must go too.
  EXPECT_THAT(output_of("sleep 20 & sleep 20", 200ms).error().line(), HasSubstr("not done within 0.2 s"));
  EXPECT_LT(std::chrono::steady_clock::now() - before, 5s);
}

TEST(TuneMeasure, CommandLines) {
  Moe shape;
  shape.tokens = 64, shape.experts = 256, shape.topk = 8, shape.hidden = 7168, shape.inter = 2048;
  shape.ep = 8;
  const std::vector<TritonConfig> one = {kAsked[0]};
  EXPECT_EQ(measure_command("run", shape, one),
            "run --tokens 64 --hidden 7168 --inter 2048 --experts 32 --topk 1 16,64,128,1,4,4");
  EXPECT_EQ(measure_command("run", GemmProblem{1, 256, 4096, 512}, one),
            "run --tokens 256 --hidden 4096 --inter 512 --experts 1 --topk 1 --pass down 16,64,128,1,4,4");
}

TEST(TuneEngineFile, NamesAsTheEnginesMakeThem) {
  const auto name = [](Count e, Count n, const char* device, const char* format) {
    return *engine_file_name(e, n, device, *format_from(format));
  };
  EXPECT_EQ(name(128, 768, "NVIDIA H200", "bf16").vllm, "E=128,N=768,device_name=NVIDIA_H200.json");
  EXPECT_EQ(name(8, 3584, "NVIDIA A100-SXM4-80GB", "fp16").sglang, "E=8,N=3584,device_name=NVIDIA_A100-SXM4-80GB.json");
  const EngineFileName blocks = name(256, 256, "NVIDIA H200 NVL", "fp8_block");
  EXPECT_EQ(blocks.vllm, "E=256,N=256,device_name=NVIDIA_H200,dtype=fp8_w8a8,block_shape=[128,128].json");
  EXPECT_EQ(blocks.sglang, "E=256,N=256,device_name=NVIDIA_H200_NVL,dtype=fp8_w8a8,block_shape=[128, 128].json");
  EXPECT_FALSE(engine_file_name(8, 8, "x", *format_from("nvfp4")).ok());
  EXPECT_EQ(*device_name_of(*find_gpu("H100")), "NVIDIA H100 80GB HBM3");
  EXPECT_FALSE(device_name_of(*find_gpu("MI300X")).ok());
  EXPECT_EQ(*triton_folder("3.6.0"), "triton_3_6_0");
  for (const char* bad : {"", "3", "../..", "3.6.0rc1"}) EXPECT_FALSE(triton_folder(bad).ok()) << bad;
}

TEST(TuneEngineFile, TextIsWhatTheyLoad) {
  const auto json = nlohmann::json::parse(engine_file_text({{1, kAsked[0]}, {4096, kAsked[3]}}));
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json["1"]["BLOCK_SIZE_M"], 16);
  EXPECT_EQ(json["1"]["num_stages"], 4);
  EXPECT_EQ(json["4096"], (nlohmann::json{{"BLOCK_SIZE_M", 128},
                                          {"BLOCK_SIZE_N", 128},
                                          {"BLOCK_SIZE_K", 64},
                                          {"GROUP_SIZE_M", 1},
                                          {"num_warps", 8},
                                          {"num_stages", 3}}));
}

}  // namespace
}  // namespace tilecast
