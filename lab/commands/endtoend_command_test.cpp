// `tilecast endtoend` through the real binary, on our own committed rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "cli/cli_testing.h"
#include "support/test_files.h"
#include "test_paths.h"

namespace tilecast {
namespace {

using testing::HasSubstr;

const std::string kOwn = " --measurements " TILECAST_SOURCE_DIR "/data/measurements";

TEST(EndToEndCommandTest, JudgesOurOwnRows) {
  const std::string rows = scratch_path("rows.csv");
  const Ran ran = run_tilecast("endtoend --only h200" + kOwn + " --predictions " + rows);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("| qwen3-4b | prefill, cudagraph, bf16, fused | 4 |"));
  EXPECT_THAT(file_text(rows), HasSubstr("\nh200,H200-SXM,cudagraph,llama-3.1-8b,decode,\"bf16, fused\","));
  std::remove(rows.c_str());
  EXPECT_THAT(run_tilecast("endtoend --only h200 --json" + kOwn).out, HasSubstr("\"measured_s\""));
}

TEST(EndToEndCommandTest, HelpListsEverySource) {
  // Terminals wrap the list.
  std::string help = run_tilecast("endtoend --help").out;
  std::replace(help.begin(), help.end(), '\n', ' ');
  for (const char* source :
       {"h200,", "argonne,", "trtllm,", "synperf,", "mosaic,", "megatron,", "bridge,", "nemo,", "ultrascale,",
        "mlperf,", "neusight,", "llmservingsim,", "gpustack,", "silicon,", "inferencex,", "overview "})
    EXPECT_THAT(help, HasSubstr(source));
  const std::string wrong = run_tilecast("endtoend --only all").err;
  EXPECT_THAT(wrong, HasSubstr("megatron, bridge, nemo, ultrascale, mlperf, neusight"));
}

// A table in which nothing is recognised is not a success.
TEST(EndToEndCommandTest, CountsWhatItDoesNotKnow) {
  const TestFolder folder;
  std::filesystem::create_directories(folder.file("e2e"));
  const std::string head =
      "source,gpu,num_gpus,tp,pp,dp_ep,model,precision,engine,engine_version,batch_or_concurrency,isl,osl,seqlen,"
      "metric,"
      "value,unit,notes\n";
  const std::string unknown = "s,Gaudi,1,1,1,,meta-llama/Llama-2-7b-hf,fp16,vLLM,,16,128,128,,e2e_latency,2.5,s,\n";
  const std::string known = "s,Nvidia B300 GPU,1,1,1,,Llama-2-7b,fp16,vLLM,,1,128,1,,e2e_latency,0.01,s,\n";
  folder.gzip("e2e/argonne_llm_inference_bench.csv.gz", head + unknown);
  const std::string command = "endtoend --only argonne --data " + folder.file("");
  const Ran none = run_tilecast(command);
  EXPECT_NE(none.code, 0);
  EXPECT_THAT(none.err, HasSubstr("unknown GPU 'Gaudi'"));
  folder.gzip("e2e/argonne_llm_inference_bench.csv.gz", head + unknown + known + unknown);
  const Ran some = run_tilecast(command);
  ASSERT_EQ(some.code, 0) << some.err;
  EXPECT_THAT(some.out, HasSubstr("| argonne | judged | 1 |"));
  EXPECT_THAT(some.out, HasSubstr("| argonne | left out: unknown GPU 'Gaudi' | 2 |"));
  EXPECT_THAT(some.out, HasSubstr("| B300 |"));
}

TEST(EndToEndCommandTest, SaysWhatIsMissing) {
  EXPECT_THAT(run_tilecast("endtoend --only all").err, HasSubstr("--only"));
  EXPECT_THAT(run_tilecast("endtoend --only argonne").err, HasSubstr("--data"));
  EXPECT_THAT(run_tilecast("endtoend --only argonne --half both").err, HasSubstr("--half"));
  EXPECT_THAT(run_tilecast("endtoend --only argonne --every 0").err, HasSubstr("--every"));
  EXPECT_THAT(run_tilecast("endtoend --only h200 --measurements /nonexistent").err, HasSubstr("/nonexistent"));
  EXPECT_THAT(run_tilecast("endtoend --only synperf --data /nonexistent").err, HasSubstr("/nonexistent"));
}

}  // namespace
}  // namespace tilecast
