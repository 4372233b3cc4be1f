#include "cli/commands/program_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test_paths.h"

namespace tilecast {
namespace {

PredictOptions asked() {
  PredictOptions options;
  options.query.model = TILECAST_SOURCE_DIR "/data/programs/triton-inference-eager-rows16384.json.gz";
  options.lists.gpus = {"H200-SXM", "B200"};
  return options;
}

TEST(ProgramCommand, SaysTimeMemoryAndWhatIsUnknown) {
  const auto text = run_predict(asked());
  ASSERT_TRUE(text) << text.error().line();
  EXPECT_THAT(*text, testing::HasSubstr("recorded by PyTorch 2.11"));
  EXPECT_THAT(*text, testing::HasSubstr("B200"));
  EXPECT_THAT(*text, testing::HasSubstr("no rule knows tilecast_example.silu_gate"));
  EXPECT_THAT(*text, testing::HasSubstr("GiB at its peak"));
}

TEST(ProgramCommand, JsonHasEveryPart) {
  PredictOptions options = asked();
  options.json = true;
  const auto text = run_predict(options);
  ASSERT_TRUE(text) << text.error().line();
  for (const char* field : {"step_ms", "interval_ms", "kernels_ms", "host_ms", "launches", "recognised", "phases",
                            "operators", "modules", "memory_bytes", "over_calls", "peak_module"})
    EXPECT_THAT(*text, testing::HasSubstr(std::string("\"") + field + "\"")) << field;
}

TEST(ProgramCommand, ArgumentsThatARecordFixesAreRefused) {
  PredictOptions options = asked();
  options.query.batch = 8;
  EXPECT_EQ(run_predict(options).error().field, "batch");
  options = asked();
  options.compare = true;
  EXPECT_EQ(run_predict(options).error().field, "compare");
  options = asked();
  options.lists.engines = {"vllm"};
  EXPECT_FALSE(run_predict(options));
}

}  // namespace
}  // namespace tilecast
