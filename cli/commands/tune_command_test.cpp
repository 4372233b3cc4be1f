#include "cli/commands/tune_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/cli_testing.h"

namespace tilecast {
namespace {

using testing::HasSubstr;

const std::string kLayer = "tune fused-moe --gpu H200 --experts 128 --hidden 2048 --inter 768 --topk 8 ";
// Stands for a card: every configuration takes as long as its num_stages says, but four fail.
const std::string kFake =
    "--measure 'sh -c '\"'\"'for c in \"$@\"; do case $c in *,*,4) echo $c failed no;; *,*) echo $c ${c##*,};; esac; "
    "done'\"'\"' fake' ";

TEST(TuneCommand, RanksAndWritesTheEnginesFiles) {
  const std::string out = scratch_path("tuned");
  const Ran ran = run_tilecast(kLayer + "--tp 2 --tokens 1,4096 -o " + out);
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const char* words :
       {"128 experts of 2048 x 384", "x default", "VLLM_TUNED_CONFIG_FOLDER", "SGLANG_MOE_CONFIG_DIR"})
    EXPECT_THAT(ran.out, HasSubstr(words));
  const std::string name = "/E=128,N=384,device_name=NVIDIA_H200.json";
  const auto json = nlohmann::json::parse(file_text(out + name));
  EXPECT_EQ(json["1"]["BLOCK_SIZE_M"], 16);
  EXPECT_EQ(json["4096"]["BLOCK_SIZE_M"], 128);
  EXPECT_EQ(file_text(out + "/configs/triton_3_6_0" + name), file_text(out + name));
  std::filesystem::remove_all(out);
}

TEST(TuneCommand, MeasuresTheTopFewAndTheDefault) {
  const Ran ran = run_tilecast(kLayer + "--tokens 64,256 --top 40 --json " + kFake);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("measuring 2 of 2: 256 tokens"));
  const auto answer = nlohmann::json::parse(ran.out);
  for (const auto& tuned : answer["tuned"]) {
    ASSERT_EQ(tuned["best"].size(), 40u);
    EXPECT_EQ(tuned["pick"]["num_stages"], 2);
    EXPECT_EQ(tuned["best"][0]["measured_us"], 2);
    EXPECT_EQ(tuned["default"]["measured_us"], 3);
    EXPECT_EQ(tuned["best"].back()["problem"], "no");
    EXPECT_FALSE(tuned["best"].back().contains("measured_us"));
  }
  // The default is kept where nothing of ours is faster.
  const Ran slow = run_tilecast(kLayer +
                                "--tokens 64 --top 2 --json --measure 'sh -c '\"'\"'for c in \"$@\"; do case $c in "
                                "32,64,128,1,4,3) echo $c 1;; *,*) echo $c 5;; esac; done'\"'\"' fake'");
  ASSERT_EQ(slow.code, 0) << slow.err;
  EXPECT_EQ(nlohmann::json::parse(slow.out)["tuned"][0]["pick"]["BLOCK_SIZE_M"], 32);
}

TEST(TuneCommand, Products) {
  const Ran ran = run_tilecast("tune gemm --gpu A100 --m 256 --n 4096 --k 4096 --top 3 --json " + kFake);
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json["best"].size(), 3u);
  EXPECT_GT(json["best"][0]["forecast_us"], 2 * 256 * 4096.0 * 4096 / 312e6);
  EXPECT_THAT(run_tilecast("tune gemm --gpu H200 --m 256 --n 4096 --k 4096").out, HasSubstr("limited by"));
}

TEST(TuneCommand, OneClearLine) {
  const auto line = [](const std::string& arguments) {
    const Ran ran = run_tilecast(arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_EQ(ran.out, "") << arguments;
    return ran.err;
  };
  EXPECT_THAT(line(kLayer + "--tokens 0"), HasSubstr("--tokens: must lie between 1"));
  EXPECT_THAT(line(kLayer + "--tokens 8 --dtype bf17"), HasSubstr("--dtype"));
  EXPECT_THAT(line(kLayer + "--tokens 8 --top 0"), HasSubstr("--top"));
  EXPECT_THAT(line(kLayer + "--tokens 8 --triton new -o " + scratch_path("x")), HasSubstr("--triton"));
  EXPECT_THAT(line(kLayer + "--tokens 8 -o /dev/null/x"), HasSubstr("/dev/null/x"));
  EXPECT_THAT(line(kLayer + "--tokens 8 --measure 'exit 7;'"), HasSubstr("status 7"));
  EXPECT_THAT(line(kLayer + "--tokens 8 --measure 'sleep 9;' --measure-seconds 0.2"), HasSubstr("within 0.2 s"));
  EXPECT_THAT(line("tune gemm --gpu H200 --m 0 --n 1 --k 1"), HasSubstr("--m"));
  EXPECT_THAT(line("tune gemm --gpu MI300X --m 1 --n 1 --k 1"), HasSubstr("NVIDIA"));
  EXPECT_THAT(line("tune-judge --measurements /nowhere"), HasSubstr("/nowhere/h200_fused_moe.csv.gz"));
}

}  // namespace
}  // namespace tilecast
