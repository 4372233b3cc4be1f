#include "serve/trace.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tilecast {
namespace {

class ServeTrace : public testing::Test {
 protected:
  Result<Trace> read(const std::string& text, TraceOptions options = {}) {
    std::ofstream(path_) << text;
    return read_trace(path_, options);
  }
  std::string problem_of(const std::string& text) {
    const auto trace = read(text);
    return trace ? "" : trace.error().line();
  }
  void TearDown() override { std::filesystem::remove(path_); }
  const std::string path_ = testing::TempDir() + "/tilecast_trace_" + std::to_string(getpid());
};

TEST_F(ServeTrace, ReadsCsv) {
  const auto trace = read("arrival,id,input,output\n1.5,a,1024,256\n\n2,b,7,1\r\n");
  ASSERT_TRUE(trace) << trace.error().line();
  ASSERT_EQ(trace->requests.size(), 2u);
  EXPECT_EQ(trace->requests[0].input, 1024);
  EXPECT_EQ(trace->requests[0].output, 256);
  EXPECT_DOUBLE_EQ(trace->requests[0].arrival.base(), 0);
  EXPECT_DOUBLE_EQ(trace->requests[1].arrival.base(), 0.5);
  EXPECT_TRUE(trace->notes.empty());
}

TEST_F(ServeTrace, ReadsOthersNames) {
  const auto azure =
      read("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-30 23:59:59.5,4808,10\n2023-12-01 00:00:01,3180,8\n");
  ASSERT_TRUE(azure) << azure.error().line();
  EXPECT_NEAR(azure->requests[1].arrival.base(), 1.5, 1e-6);
  const auto mooncake = read(
      "{\"timestamp\": 3000, \"input_length\": 5, \"output_length\": 2, \"hash_ids\": [1]}\n"
      "{\"timestamp\": 4500, \"input_length\": 5, \"output_length\": 2, \"hash_ids\": [1]}\n");
  ASSERT_TRUE(mooncake) << mooncake.error().line();
  EXPECT_NEAR(mooncake->requests[1].arrival.base(), 1.5, 1e-9);
  const auto prefixed = read("arrival_ms,prompt_tokens,output,prefix,prefix_tokens\n0,100,1,7,64\n10,100,1,-1,0\n");
  ASSERT_TRUE(prefixed) << prefixed.error().line();
  EXPECT_EQ(prefixed->requests[0].prefix, 7);
  EXPECT_EQ(prefixed->requests[0].prefix_tokens, 64);
  EXPECT_NEAR(prefixed->requests[1].arrival.base(), 0.01, 1e-9);
}

TEST_F(ServeTrace, SortsWithANote) {
  const auto trace = read("arrival,input,output\n2,1,1\n1,2,1\n1,3,1\n");
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->notes.size(), 1u);
  EXPECT_EQ(trace->requests[0].input, 2);  // equal arrivals keep their order
  EXPECT_EQ(trace->requests[1].input, 3);
  EXPECT_EQ(trace->requests[2].input, 1);
}

TEST_F(ServeTrace, StopsAtTheLimitWithANote) {
  std::string text = "arrival,input,output\n";
  for (int i = 0; i < 100; ++i) text += std::to_string(i) + ",1,1\n";
  const auto trace = read(text + "garbage that is never reached\n", {.most = 50});
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->requests.size(), 50u);
  EXPECT_EQ(trace->notes.size(), 1u);
}

TEST_F(ServeTrace, NamesFileAndLineOfWhatIsWrong) {
  const std::string head = "arrival,input,output\n0,1,1\n";
  EXPECT_EQ(problem_of(head + "1,-5,1\n"), path_ + ":3: input: must lie between 1 and 1073741824, not -5");
  EXPECT_EQ(problem_of(head + "1,5,0\n"), path_ + ":3: output: must lie between 1 and 1073741824, not 0");
  EXPECT_EQ(problem_of(head + "1,x,1\n"), path_ + ":3: input: 'x' is no number");
  EXPECT_EQ(problem_of(head + "1,2.5,1\n"), path_ + ":3: input: must be a whole number, not 2.5");
  EXPECT_EQ(problem_of(head + "1,2\n"), path_ + ":3: has 2 fields, the header 3");
  EXPECT_EQ(problem_of(head + "nan,2,1\n"), path_ + ":3: arrival: 'nan' is no number");
  EXPECT_NE(problem_of("input,output\n1,1\n").find("arrival: the header has no such column"), std::string::npos);
  EXPECT_NE(problem_of("{\"arrival\": 1, \"input\": 5}\n").find(":1: output: is missing"), std::string::npos);
  EXPECT_NE(problem_of("{\"arrival\": 1,\n").find(":1: is no JSON object"), std::string::npos);
  EXPECT_NE(problem_of("arrival,input,output,prefix,prefix_tokens\n0,5,1,0,6\n").find("prefix_tokens"),
            std::string::npos);
  EXPECT_NE(problem_of("").find("is empty"), std::string::npos);
  EXPECT_FALSE(read_trace(path_ + "_missing"));
}

}  // namespace
}  // namespace tilecast
