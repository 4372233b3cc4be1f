// The real binary: help, GPU commands, and what it says to wrong input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/cli_testing.h"
#include "gpu/registry.h"
#include "kernel/kernel.h"

namespace tilecast {
namespace {

using testing::HasSubstr;

// Refused means: one line that names the culprit, nothing else.
void expect_refused(const std::string& arguments, const std::string& says) {
  SCOPED_TRACE(arguments);
  const Ran ran = run_tilecast(arguments);
  EXPECT_GT(ran.code, 0);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  EXPECT_THAT(ran.err, testing::StartsWith(is_of_the_lab(arguments) ? "tilecast-lab: " : "tilecast: "));
  EXPECT_THAT(ran.err, HasSubstr(says));
}

std::string write_file(const std::string& name, const std::string& text) {
  const std::string path = scratch_path(name);
  std::ofstream(path) << text;
  return path;
}

TEST(Cli, HelpOfEveryCommandShowsAnExample) {
  for (const char* command :
       {"", "kernel", "gpus", "gpu", "gpu show", "gpu check", "import", "train", "evaluate", "accuracy"}) {
    const Ran ran = run_tilecast(std::string(command) + " --help");
    EXPECT_EQ(ran.code, 0) << command;
    EXPECT_EQ(ran.err, "") << command;
    EXPECT_THAT(ran.out, testing::ContainsRegex("Examples?:\n  tilecast")) << command;
  }
}

TEST(Cli, HelpOfEveryFamilyNamesItsFieldsAndAnExample) {
  for (const Family& family : families()) {
    const std::string name(family.info.name);
    const Ran ran = run_tilecast("kernel " + name + " --help");
    EXPECT_EQ(ran.code, 0) << name;
    EXPECT_THAT(ran.out, HasSubstr("tilecast kernel " + name + " " + std::string(family.info.example)));
    for (const FieldInfo& field : family.fields) EXPECT_THAT(ran.out, HasSubstr("--" + field.name)) << name;
  }
}

TEST(Cli, HelpHasNoTwoBlankLinesInARow) {
  for (const char* command : {"", "kernel ", "predict ", "http ", "plan serve "}) {
    const Ran help = run_tilecast(std::string(command) + "--help");
    EXPECT_EQ(help.code, 0);
    EXPECT_EQ(help.out.find("\n\n\n"), std::string::npos) << command;
  }
}

TEST(Cli, AClosedOutputIsNoFullDisk) {
  const Ran closed = run_shell(program_for("kernel ") + "kernel gemm --m 8 --n 8 --k 8 --gpu H100-SXM >&-");
  EXPECT_EQ(closed.code, 1);
  EXPECT_THAT(closed.err, HasSubstr("it is closed"));
  const Ran full = run_shell(program_for("kernel ") + "kernel gemm --m 8 --n 8 --k 8 --gpu H100-SXM > /dev/full");
  EXPECT_THAT(full.err, HasSubstr("free some of the disk"));
}

TEST(Cli, Version) {
  const Ran ran = run_tilecast("--version");
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, testing::MatchesRegex("tilecast [0-9]+\\.[0-9]+\\.[0-9]+\ncommit   [0-9a-z-]+ of [0-9a-z-]+\n"
                                             "weights  [0-9a-f]+ of [0-9a-z-]+: [0-9]+ models, features [0-9a-f]+\n"
                                             "learned  from [0-9,]+ rows: [a-z].*\n"));
}

TEST(Cli, ListsEveryGpu) {
  const Ran text = run_tilecast("gpus"), json = run_tilecast("gpus --json");
  EXPECT_EQ(text.code, 0);
  EXPECT_EQ(json.code, 0);
  const auto list = nlohmann::json::parse(json.out);
  ASSERT_EQ(list.size(), built_in_gpus().size());
  for (const Gpu& gpu : built_in_gpus()) EXPECT_THAT(text.out, HasSubstr("\n" + gpu.name + " "));
}

TEST(Cli, ShowsAGpuByAliasWithSources) {
  const Ran text = run_tilecast("gpu show 'nvidia h100 80gb hbm3'"), json = run_tilecast("gpu show h100 --json");
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out, testing::StartsWith("H100-SXM  (hopper 9.0, 132 SMs)\n"));
  EXPECT_THAT(text.out, HasSubstr("sources\n"));
  const auto shown = nlohmann::json::parse(json.out);
  EXPECT_EQ(shown["sms"], 132);
  EXPECT_NEAR(shown["peak_tflops"]["tensor bf16/fp32"].get<double>(), 989.4, 1);
  for (const char* field : {"name", "architecture", "compute_capability", "clock_mhz", "power_w", "l2_bytes",
                            "dram_bytes", "dram_bytes_per_s", "nvlink_bytes_per_s", "pcie_bytes_per_s"})
    EXPECT_TRUE(shown.contains(field)) << field;
}

TEST(Cli, ShowsTheConstantsOfACard) {
  const Ran text = run_tilecast("gpu show h100 --constants"), json = run_tilecast("gpu show h100 --constants --json");
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("pipeline.step_clocks"));
  const auto shown = nlohmann::json::parse(json.out);
  EXPECT_EQ(shown["gpu"], "H100-SXM");
  int steps = 0;
  for (const auto& constant : shown["constants"]) {
    for (const char* field : {"name", "of", "value", "unit", "kind", "refitted", "what", "source"})
      EXPECT_TRUE(constant.contains(field)) << field;
    if (constant["name"] != "pipeline.step_clocks") continue;
    ++steps;
    EXPECT_EQ(constant["value"], 150);
  }
  EXPECT_EQ(steps, 1);  // Hopper's alone
}

TEST(Cli, AHypotheticalGpuIsFiveLines) {
  const std::string file = write_file("half-h100.json",
                                      "{\n  \"like\": \"H100-SXM\",\n  \"name\": \"Half\",\n  \"sms\": 66,\n"
                                      "  \"dram\": {\"gb_per_s\": 1676}\n}\n");
  const Ran check = run_tilecast("gpu check " + file);
  EXPECT_EQ(check.code, 0) << check.err;
  EXPECT_THAT(check.out, HasSubstr("ok: Half, 66 SMs"));
  EXPECT_EQ(run_tilecast("gpu show " + file).code, 0);
  const Ran forecast = run_tilecast("kernel gemm --m 8192 --n 8192 --k 8192 --json --gpu H100-SXM," + file);
  ASSERT_EQ(forecast.code, 0) << forecast.err;
  const auto list = nlohmann::json::parse(forecast.out);
  EXPECT_EQ(list[1]["gpu"], "Half");
  EXPECT_GT(list[1]["bound_us"], list[0]["bound_us"]);
  std::remove(file.c_str());
}

TEST(Cli, BrokenGpuFilesAreRefusedByFieldAndFile) {
  const auto refuse = [](const std::string& text, const std::string& says) {
    const std::string file = write_file("broken.json", text);
    expect_refused("gpu check " + file, says);
    expect_refused("kernel reduction --rows 8 --cols 8 --gpu " + file, file);
    std::remove(file.c_str());
  };
  refuse("{\"like\": \"H100-SXM\", \"name\": \"x\", \"sms\": 0}", "sms: must lie between 1 and");
  refuse("{\"like\": \"H100-SXM\", \"name\": \"x\", \"smz\": 4}", "smz: unknown field (did you mean sms?)");
  refuse("{\"like\": \"H100-SMX\", \"name\": \"x\"}", "like: unknown GPU 'H100-SMX' (did you mean");
  refuse("{\"like\": \"H100-SXM\", \"name\": \"x\", \"sms\": 8, \"sms\": 9}", "names 'sms' twice in one object");
  refuse("{\"name\": \"x\"}", "vendor: is missing");
  refuse("{\"name\": ", "is not valid JSON");
  refuse("", "is not valid JSON");
  expect_refused("gpu check /nonexistent/gpu.json", "/nonexistent/gpu.json: no such file");
  expect_refused("gpu check /tmp", "is a directory");
}

TEST(Cli, UnknownNamesSuggest) {
  expect_refused("gpu show H10", "did you mean");
  expect_refused("kernel gemm --m 1 --n 1 --k 1 --gpu H100-SMX", "did you mean H100-SXM");
  expect_refused("kernel gem --m 1 --n 1 --k 1 --gpu H100-SXM", "did you mean gemm");
  expect_refused("kernel gemm --m 1 --n 1 --k 1 --gpu H100-SXM --dtype bf61", "did you mean bf16");
  expect_refused("kernel gemm --m 1 --n 1 --k 1 --gpu H100-SXM --method rofline", "did you mean roofline?");
}

TEST(Cli, WrongValuesAreRefusedByName) {
  const std::string gpu = " --gpu H100-SXM";
  expect_refused("", "a command is missing (one of kernel, predict");
  expect_refused("kernel", "a kernel family is missing (one of gemm, bmm");
  expect_refused("frobnicate", "unknown command 'frobnicate'");
  expect_refused("kernel frobnicate", "unknown kernel family 'frobnicate' (one of gemm, bmm");
  expect_refused("kernel gemm --m 1 --n 1 --k 1", "--gpu: is missing");
  expect_refused("kernel gemm --n 1 --k 1" + gpu, "--m: is missing");
  expect_refused("kernel gemm --m -1 --n 1 --k 1" + gpu, "--m: must not be negative, and is -1");
  expect_refused("kernel gemm --m=-1 --n 1 --k 1" + gpu, "--m");
  expect_refused("kernel gemm --m 0 --n 1 --k 1" + gpu, "--m: must be a positive whole number");
  expect_refused("kernel gemm --m 1.5 --n 1 --k 1" + gpu, "--m: must be a whole number");
  expect_refused("kernel gemm --m nan --n 1 --k 1" + gpu, "--m: must be a whole number");
  expect_refused("kernel gemm --m '' --n 1 --k 1" + gpu, "--m");
  expect_refused("kernel gemm --m 4K --n 1 --k 1" + gpu,
                 "--m: must be a whole number, not '4K' (4k for thousands, 4Ki");
  expect_refused("kernel gemm --m 99999999999999999999 --n 1 --k 1" + gpu, "--m: must be at most");
  expect_refused("kernel gemm --m 1000000000000 --n 1000000 --k 1000000" + gpu, "10^15");
  expect_refused("kernel gemm --m 1 --n 1 --k 1 --q 3" + gpu, "unknown flag '--q'");
  expect_refused("kernel gemm --m 1 --m 2 --n 1 --k 1" + gpu, "--m: is given more than once (give it once)");
  expect_refused("kernel gemm --m --n 1", "--m: has no value");
  expect_refused("predict gpt2 --gpu --seq 8", "--gpu: has no value");
  expect_refused("calibrate --gpu H100-SXM --data t.csv -o", "-o: has no value");
  expect_refused("kernel gemm --m 1 --n 1 --k 1 --gpu", "--gpu: has no value");
  expect_refused("kernel gemm --m 1 --n 1 --k 1 --layout xy" + gpu, "--layout: unknown choice 'xy' (one of");
  expect_refused("kernel gemm --m 1 --n 1 --k 1 surplus" + gpu, "surplus");
  expect_refused("kernel custom --ctas 1 --vector-ops nan" + gpu, "--vector-ops: must be a finite number");
  expect_refused("kernel custom --ctas 1 --vector-ops=-1" + gpu, "--vector-ops: must be a finite number");
  expect_refused("kernel gemm --m 1 --n 1 --k 1 --warmth hot" + gpu, "--warmth: must be model, warm or cold");
  expect_refused("kernel gemm --m 1 --n 1 --k 1 --runtime lazy" + gpu, "--runtime: must be graph or eager");
  expect_refused("kernel gemm --m 1 --n 1 --k 1 --weight-copies 0" + gpu, "--weight-copies");
  expect_refused("kernel gemm --m 1 --n 1 --k 1 --weight-copies many" + gpu, "--weight-copies");
}

// One number is the same number wherever it is typed.
TEST(Cli, NumbersAreReadAlikeEverywhere) {
  const std::string gpu = " --gpu H100-SXM --json";
  const auto same = [](const std::string& a, const std::string& b) {
    const Ran one = run_tilecast(a), other = run_tilecast(b);
    EXPECT_EQ(one.code, 0) << a << one.err;
    EXPECT_EQ(one.out, other.out) << a;
  };
  same("kernel gemm --m 4k --n 4Ki --k 1e3" + gpu, "kernel gemm --m 4000 --n 4096 --k 1000" + gpu);
  same("predict gpt2 --seq 1k" + gpu, "predict gpt2 --seq 1000" + gpu);
  same("predict gpt2 --mode mixed --requests 1kx1+0.5Ki" + gpu,
       "predict gpt2 --mode mixed --requests 1000x1+512" + gpu);
  const std::string small = "simulate gpt2 --no-interval --method analytic --num-prompts 4 --output 4" + gpu;
  same(small + " --sweep rate=1k,2k --input 0.5k", small + " --sweep rate=1000,2000 --input 500");
  const std::string reduce = "collective all_reduce --cluster hgx-h100-8 --json --bytes ";
  same(reduce + "64K", reduce + "64KiB");
  same(reduce + "64KB", reduce + "64000");
  expect_refused("predict gpt2 --seq 1K" + gpu, "1k for thousands, 1Ki for 1024s");
  EXPECT_NE(run_tilecast("--help").out.find("64KB is 64000"), std::string::npos);
}

// What an answer would leave out is refused, with the flag, the mode and what to do.
TEST(Cli, FlagsOfAnotherModeAreRefused) {
  expect_refused("predict gpt2 --gpu H100-SXM --mode decode --context 64 --seq 128",
                 "--seq: has no effect with mode decode (decode takes context and new-tokens");
  expect_refused("predict gpt2 --gpu H100-SXM --seq 64 --micro-batch 2", "--micro-batch: has no effect on one GPU");
  expect_refused("predict gpt2 --cluster hgx-h100 --gpu B200 --seq 64", "--gpu: B200 is not the GPU of the cluster");
  expect_refused("predict gpt2 --cluster hgx-h100 --tp 2 --seq 64 --compare",
                 "--compare: has no effect over many GPUs");
  expect_refused("memory gpt2 --gpu H100-SXM --seq 64 --recompute full",
                 "--recompute: has no effect with mode prefill");
  expect_refused("plan serve gpt2 --slo ttft=1s --rate 1 --save-top 2", "--save-top: has no effect without --save-dir");
  expect_refused("tune gemm --gpu H200 --m 64 --n 64 --k 64 --measure-seconds 5",
                 "--measure-seconds: has no effect without measure");
  expect_refused("tune fused-moe --gpu H200 --experts 8 --hidden 64 --inter 64 --topk 2 --triton 3.5.0",
                 "--triton: has no effect without --output");
}

// Over many GPUs a rank's kernels are as much to see as those of one.
TEST(Cli, KernelsOfARank) {
  const std::string asked = "predict gpt2 --cluster hgx-h100 --tp 2 --seq 64 ";
  const Ran text = run_tilecast(asked + "--kernels");
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("kernels of a rank"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("attention_prefill "), std::string::npos) << text.out;
  const Ran json = run_tilecast(asked + "--json");
  const nlohmann::json steps = nlohmann::json::parse(json.out);
  ASSERT_FALSE(steps[0]["kernels"].empty());
  EXPECT_GT(steps[0]["kernels"][0]["latency_us"].get<double>(), 0);
}

TEST(Cli, UnknownFlagsSuggest) {
  const std::string gemm = "kernel gemm --m 1 --n 1 --k 1 --gpu H100-SXM ";
  expect_refused(gemm + "--dtyp fp8", "unknown flag '--dtyp' (did you mean --dtype?)");
  expect_refused(gemm + "--dtyp=fp8", "unknown flag '--dtyp' (did you mean --dtype?)");
  expect_refused(gemm + "--frobnicate", "unknown flag '--frobnicate' (add --help");
  expect_refused("kernel gemm help", "unexpected 'help' (add --help");
  expect_refused("--verison", "unknown flag '--verison' (did you mean --version?)");
  expect_refused("--gpu H100 " + gemm, "flag '--gpu' stands before its command (write it behind the command)");
}

// A flag's name stands once, with two dashes, wherever its value is refused.
TEST(Cli, RefusalsNameTheFlagAsItIsWritten) {
  for (const char* arguments :
       {"kernel gemm --m 1 --n 1 --k 1 --gpu H100-SXM --dtype bfloat", "predict gpt2 --gpu H100-SXM --mode inference",
        "simulate gpt2 --gpu H100-SXM --rate 8/s", "simulate gpt2 --gpu H100-SXM --rate 8 --slo ttft=500",
        "plan train gpt2 --gpus H100 --global-batch 8 --seq 128"})
    EXPECT_THAT(run_tilecast(arguments).err, testing::MatchesRegex("tilecast: --[a-z]+: .*\n")) << arguments;
}

TEST(Cli, DataCommandsRefuseWhatIsNotThere) {
  expect_refused("evaluate --data /nonexistent.csv", "/nonexistent.csv: no such file");
  expect_refused("evaluate --data /nonexistent.csv --method oracle", "oracle");
  expect_refused("import --from neusight /nonexistent.csv -o /tmp/x.csv", "/nonexistent.csv: no such file");
  expect_refused("import --from elsewhere /nonexistent.csv -o /tmp/x.csv", "elsewhere");
  expect_refused("import --from neusight /nonexistent.csv", "--out");
}

TEST(Cli, ATypeTheHardwareLacksIsRefused) {
  expect_refused("kernel gemm --m 1 --n 1 --k 1 --dtype fp8_static --gpu V100-SXM", "V100-SXM has no fp8 pipe");
  expect_refused("kernel gemm --m 1 --n 1 --k 1 --dtype nvfp4 --gpu B200,H100-SXM", "H100-SXM has no fp4 pipe");
}

}  // namespace
}  // namespace tilecast
