#include "tilecast/program.h"

#include <gtest/gtest.h>

#include "support/test_files.h"
#include "test_paths.h"

namespace tilecast {
namespace {

const std::string kPrograms = TILECAST_SOURCE_DIR "/data/programs/";
const std::string kBert = kPrograms + "bert-training-eager-batch16_length512_layers4.json.gz";

ProgramStep step_on(const std::string& gpu, EngineKind engine = EngineKind::pytorch) {
  auto step = forecast(ProgramQuery{.program = kBert, .gpu = gpu, .engine = engine});
  if (!step) return ADD_FAILURE() << step.error().line(), ProgramStep{};
  return *std::move(step);
}

TEST(ProgramQuestion, TablesSumToTheKernelsTime) {
  const ProgramStep step = step_on("H200-SXM");
  Seconds phases, operators, classes;
  for (const ProgramShare& share : step.by_phase) phases += share.time;
  for (const ProgramShare& share : step.by_operator) operators += share.time;
  for (const ProgramShare& share : step.by_class) classes += share.time;
  for (const Seconds sum : {phases, operators, classes}) EXPECT_NEAR(sum / step.gpu_time, 1, 1e-9);
  ASSERT_FALSE(step.modules.empty());
  const ProgramModule& model = step.modules.front();
  EXPECT_EQ(model.path, "");
  EXPECT_NEAR((model.forward + model.backward + model.recompute + model.optimizer) / step.gpu_time, 1, 1e-9);
  EXPECT_EQ(step.recognised, 1);
  EXPECT_TRUE(step.unknown.empty());
}

TEST(ProgramQuestion, AStepIsAtLeastItsBoundAndWithinItsInterval) {
  for (const char* gpu : {"H200-SXM", "B200", "A100-SXM-80GB", "L40S"}) {
    const ProgramStep step = step_on(gpu);
    EXPECT_GE(step.time, step.bound) << gpu;
    EXPECT_LE(step.interval.low, step.time) << gpu;
    EXPECT_GE(step.interval.high, step.time) << gpu;
    EXPECT_GE(step.memory.peak, step.memory.asked) << gpu;
    EXPECT_GE(step.memory.reserved, step.memory.peak) << gpu;
    EXPECT_EQ(step.memory.over_calls.size(), static_cast<std::size_t>(step.calls)) << gpu;
  }
}

TEST(ProgramQuestion, CompilingTakesNoMoreKernels) {
  const ProgramStep eager = step_on("H200-SXM"), compiled = step_on("H200-SXM", EngineKind::compile);
  EXPECT_LT(compiled.launches, eager.launches);
  EXPECT_LT(compiled.gpu_time, eager.gpu_time);
  EXPECT_NEAR(compiled.flops / eager.flops, 1, 1e-3) << "fusing changes no product but for its padding";
}

TEST(ProgramQuestion, RunsAsItWasRecordedUnlessSaidOtherwise) {
  ProgramQuery query{.program = kPrograms + "mixer-inference-compile-batch128_layers8.json.gz", .gpu = "H200-SXM"};
  const auto by_default = forecast(query);
  ASSERT_TRUE(by_default) << by_default.error().line();
  EXPECT_EQ(by_default->engine, EngineKind::compile);
  query.engine = EngineKind::compile;
  EXPECT_EQ(forecast(query)->time, by_default->time);
  // Its pieces are those that a compiler fuses: three times as long where each is launched alone, and no PyTorch does
  // that.
  query.engine = EngineKind::pytorch;
  EXPECT_EQ(forecast(query).error().field, "engine");
  EXPECT_EQ(forecast(ProgramQuery{.program = kBert, .gpu = "H200-SXM"})->engine, EngineKind::pytorch);
}

TEST(ProgramQuestion, AListIsAnsweredInOrder) {
  const std::vector<ProgramQuery> queries = {
      {.program = kBert, .gpu = "B200"}, {.program = kBert, .gpu = "no-card"}, {.program = kBert, .gpu = "H200-SXM"}};
  const auto answers = forecast(std::span<const ProgramQuery>(queries));
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[0]->gpu, "B200");
  EXPECT_FALSE(answers[1]);
  EXPECT_EQ(answers[2]->time, step_on("H200-SXM").time);
}

TEST(ProgramQuestion, WrongQuestionsNameTheirField) {
  EXPECT_EQ(forecast(ProgramQuery{.gpu = "B200"}).error().field, "program");
  EXPECT_EQ(forecast(ProgramQuery{.program = kBert, .gpu = "B200", .engine = EngineKind::vllm}).error().field,
            "engine");
  EXPECT_FALSE(forecast(ProgramQuery{.program = "/nowhere.json", .gpu = "B200"}));
  const TestFolder folder;
  EXPECT_FALSE(
      forecast(ProgramQuery{.program = folder.plain("cut.json", R"({"format":"tilecast.program")"), .gpu = "B200"}));
}

TEST(ProgramQuestion, ProgramsAreToldFromOtherFiles) {
  const TestFolder folder;
  EXPECT_TRUE(is_program(kBert));
  EXPECT_FALSE(is_program("Llama-3.1-8B"));
  EXPECT_FALSE(is_program(folder.plain("config.json", R"({"model_type":"llama"})")));
  EXPECT_FALSE(is_program("/nowhere.json"));
  // No other model is packed: what is wrong with one is said of the file, not of an unknown model.
  const std::string other = folder.gzip("other.json.gz", R"({"traceEvents":[]})");
  EXPECT_TRUE(is_program(other));
  const Error wrong = forecast(ProgramQuery{.program = other, .gpu = "B200"}).error();
  EXPECT_EQ(wrong.place, other);
  EXPECT_EQ(wrong.field, "format");
}

}  // namespace
}  // namespace tilecast
