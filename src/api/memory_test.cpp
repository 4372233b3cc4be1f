// Memory through the public API alone.
#include "tilecast/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/arguments_testing.h"

namespace tilecast {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

MemoryQuery decode_query(const std::string& model, const std::string& gpu, Count batch = 4) {
  return {{.model = model, .gpu = gpu, .mode = Mode::decode, .batch = batch, .context = 4096}};
}

TEST(MemoryApi, SaysWhatFits) {
  const std::vector<MemoryQuery> queries = {decode_query("Llama-3.1-70B", "H100-SXM"),
                                            decode_query("Llama-3.1-70B", "B200")};
  const auto answers = forecast(queries);
  ASSERT_EQ(answers.size(), 2u);
  for (const auto& answer : answers) {
    ASSERT_TRUE(answer.ok()) << answer.error().line();
    ASSERT_EQ(answer->stages.size(), 1u);
    // 70.55e9 parameters of two bytes.
    EXPECT_NEAR(in_bytes(answer->stages[0].need.weights), 2 * 70.55e9, 1e9);
    // Keys and values of 80 layers, 8 heads of 128, two bytes each, of 4 x 4097 tokens.
    EXPECT_NEAR(in_bytes(answer->stages[0].need.cache), 2.0 * 80 * 8 * 128 * 2 * 4 * 4097, 1e7);
  }
  EXPECT_FALSE(answers[0]->fits());
  EXPECT_EQ(answers[0]->largest_batch, 0);
  EXPECT_TRUE(answers[1]->fits());
  EXPECT_GE(answers[1]->largest_batch, 4);
}

TEST(MemoryApi, TheLargestBatchIsTheLastThatFits) {
  const auto answer = forecast(decode_query("Llama-3.1-8B", "H100-SXM"));
  ASSERT_TRUE(answer.ok()) << answer.error().line();
  const auto fits = [](Count batch) {
    const auto one = forecast(decode_query("Llama-3.1-8B", "H100-SXM", batch));
    return one && one->fits();
  };
  EXPECT_TRUE(fits(answer->largest_batch));
  EXPECT_FALSE(fits(answer->largest_batch + 1));
}

TEST(MemoryApi, AgreesWithTheStep) {
  const MemoryQuery query = decode_query("Llama-3.1-8B", "H100-SXM");
  const auto memory = forecast(query);
  const auto step = forecast(query.step);
  ASSERT_TRUE(memory.ok() && step.ok());
  EXPECT_EQ(in_bytes(memory->stages[0].need.total()), in_bytes(step->memory.need.total()));
  EXPECT_EQ(memory->stages[0].cache_tokens, step->memory.cache_tokens);
  EXPECT_GT(memory->stages[0].cache_tokens, 0);
}

TEST(MemoryApi, ASoundsSourceIsAsLongAsItsFrames) {
  // Whisper large v3 keeps 1,500 frames beside 101 tokens: 32 layers, keys and values 1,280 wide, fp16.
  const auto one = forecast(
      MemoryQuery{{.model = "Whisper-Large-v3", .gpu = "L4", .mode = Mode::decode, .batch = 8, .context = 100}});
  ASSERT_TRUE(one.ok()) << one.error().line();
  EXPECT_DOUBLE_EQ(in_bytes(one->stages[0].need.cache), 8.0 * (101 + 1500) * 2 * 32 * 1280 * 2);
}

TEST(MemoryApi, DividesOverRanks) {
  MemoryQuery query = decode_query("Llama-3.1-70B", "H100-SXM");
  query.step.layout.tp = 4, query.step.layout.pp = 2;
  const auto answer = forecast(query);
  ASSERT_TRUE(answer.ok()) << answer.error().line();
  ASSERT_EQ(answer->stages.size(), 2u);
  EXPECT_TRUE(answer->fits());
  EXPECT_EQ(answer->setting.gpus, 8);
  const Bytes weights = answer->stages[0].need.weights + answer->stages[1].need.weights;
  EXPECT_NEAR(in_bytes(weights) * 4, 2 * 70.55e9, 3e9);
}

TEST(MemoryApi, TheLargestOverRanksIsTheLastThatFits) {
  MemoryQuery query = decode_query("Llama-3.1-70B", "H100-SXM");
  query.step.layout.tp = 4;
  const auto answer = forecast(query);
  ASSERT_TRUE(answer.ok()) << answer.error().line();
  const auto fits = [&](Count batch, Count context) {
    MemoryQuery other = query;
    other.step.batch = batch, other.step.context = context;
    const auto one = forecast(other);
    return one && one->fits();
  };
  const Count context = query.step.context;
  EXPECT_TRUE(fits(answer->largest_batch, context));
  EXPECT_FALSE(fits(answer->largest_batch + 1, context));
  EXPECT_TRUE(fits(query.step.batch, answer->longest_sequence - 1));  // one token is new
  query.step.layout.dp = 2;
  query.step.batch = 2 * query.step.batch;
  const auto twice = forecast(query);
  ASSERT_TRUE(twice.ok()) << twice.error().line();
  EXPECT_EQ(twice->largest_batch, 2 * answer->largest_batch);
}

TEST(MemoryApi, NotesAContextBeyondTheModel) {
  MemoryQuery query = decode_query("Llama-3.1-8B", "H100-SXM");
  query.step.context = 200'000;
  const auto answer = forecast(query);
  ASSERT_TRUE(answer.ok()) << answer.error().line();
  ASSERT_EQ(answer->notes.size(), 1u);
  EXPECT_THAT(answer->notes[0], HasSubstr("made for 131072 tokens"));
}

TEST(MemoryApi, ErrorsNameTheField) {
  EXPECT_THAT(line_of(forecast(decode_query("Llama-3.1-8B", ""))), StartsWith("gpu: is missing"));
  EXPECT_THAT(line_of(forecast(decode_query("Llama-3.1-8B", "H100-SXM", 0))), StartsWith("batch: must lie between"));
}

TEST(MemoryApi, ArgumentsAreThoseOfTheStepLessItsMethod) {
  MemoryQuery query = decode_query("Llama-3.1-8B", "H100-SXM");
  expect_round_trip(query);
  for (const BoundArgument& argument : arguments_of(query)) {
    EXPECT_NE(argument.about.name, "method");
    EXPECT_NE(argument.about.name, "weights");
  }
}

}  // namespace
}  // namespace tilecast
