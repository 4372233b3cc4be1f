// `tilecast endtoend` through the real binary, on our own committed rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/cli_testing.h"
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

TEST(EndToEndCommandTest, SaysWhatIsMissing) {
  EXPECT_THAT(run_tilecast("endtoend --only all").err, HasSubstr("--only"));
  EXPECT_THAT(run_tilecast("endtoend --only argonne").err, HasSubstr("--data"));
  EXPECT_THAT(run_tilecast("endtoend --only h200 --measurements /nonexistent").err, HasSubstr("/nonexistent"));
  EXPECT_THAT(run_tilecast("endtoend --only synperf --data /nonexistent").err, HasSubstr("/nonexistent"));
}

}  // namespace
}  // namespace tilecast
