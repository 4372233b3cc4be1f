#include "serve/trace.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "serve/simulator_testing.h"

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
  const std::string head = "arrival,input,output\n0,1,1\n", remedy = " (docs/serving.md has the columns)";
  EXPECT_EQ(problem_of(head + "1,-5,1\n"), path_ + ":3: input: must lie between 1 and 1073741824, not -5" + remedy);
  EXPECT_EQ(problem_of(head + "1,5,0\n"), path_ + ":3: output: must lie between 1 and 1073741824, not 0" + remedy);
  EXPECT_EQ(problem_of(head + "1,x,1\n"), path_ + ":3: input: 'x' is not a number" + remedy);
  EXPECT_EQ(problem_of(head + "1,2.5,1\n"), path_ + ":3: input: must be a whole number, not 2.5" + remedy);
  EXPECT_EQ(problem_of(head + "1,2\n"), path_ + ":3: has 2 fields, the header 3" + remedy);
  EXPECT_EQ(problem_of(head + "nan,2,1\n"), path_ + ":3: arrival: 'nan' is not a number" + remedy);
  EXPECT_NE(problem_of("input,output\n1,1\n").find("arrival: the header has no such column"), std::string::npos);
  EXPECT_NE(problem_of("{\"arrival\": 1, \"input\": 5}\n").find(":1: output: is missing"), std::string::npos);
  EXPECT_NE(problem_of("{\"arrival\": 1,\n").find(":1: is not a JSON object"), std::string::npos);
  EXPECT_NE(problem_of("arrival,input,output,prefix,prefix_tokens\n0,5,1,0,6\n").find("prefix_tokens"),
            std::string::npos);
  EXPECT_NE(problem_of("").find("is empty"), std::string::npos);
  EXPECT_FALSE(read_trace(path_ + "_missing"));
}

// Turns of a conversation: what a line adds is added to all before it.
TEST_F(ServeTrace, ReadsConversations) {
  const auto trace = read(
      "{\"conversation\": \"a\", \"turn\": 1, \"arrival\": 2, \"input\": 100, \"output\": 20}\n"
      "{\"conversation\": 7, \"arrival\": 1, \"input\": 10, \"output\": 5, \"class\": 1, \"adapter\": 3}\n"
      "{\"conversation\": \"a\", \"turn\": 2, \"pause\": 1.5, \"new_tokens\": 30, \"output\": 9, \"max_tokens\": 8}\n"
      "{\"conversation\": \"a\", \"turn\": 3, \"pause_ms\": 10, \"input\": 40, \"output\": 9}\n");
  ASSERT_TRUE(trace) << trace.error().line();
  const auto& r = trace->requests;
  ASSERT_EQ(r.size(), 4u);
  EXPECT_EQ(r[0].input, 10);  // by arrival
  EXPECT_EQ(r[0].group, 1);
  EXPECT_EQ(r[0].adapter, 3);
  EXPECT_EQ(r[1].after, -1);
  EXPECT_DOUBLE_EQ(r[1].arrival.base(), 1);
  EXPECT_EQ(r[2].after, 1);
  EXPECT_EQ(r[2].input, 150);
  EXPECT_TRUE(r[2].history);
  EXPECT_DOUBLE_EQ(r[2].pause.base(), 1.5);
  EXPECT_EQ(r[2].output, 8);
  EXPECT_EQ(r[2].most_output, 8);
  EXPECT_EQ(r[3].after, 2);
  EXPECT_FALSE(r[3].history);  // begun anew: shorter than what it follows
  EXPECT_EQ(r[3].input, 40);
  const auto csv = read("conversation,arrival,pause,input,output\na,0,,50,5\na,,2.5,70,5\nb,1,,9,9\n");
  ASSERT_TRUE(csv) << csv.error().line();
  EXPECT_EQ(csv->requests[1].after, 0);
  EXPECT_TRUE(csv->requests[1].history);
  EXPECT_DOUBLE_EQ(csv->requests[1].pause.base(), 2.5);
}

// Blocks of 512 tokens that the first two have in common, and of 16 where chats are told apart.
TEST_F(ServeTrace, ReadsBlocks) {
  const auto mooncake = read(
      "{\"timestamp\": 0, \"input_length\": 1500, \"output_length\": 2, \"hash_ids\": [1, 2, 3]}\n"
      "{\"timestamp\": 500, \"input_length\": 1100, \"output_length\": 2, \"hash_ids\": [1, 2, 9]}\n"
      "{\"timestamp\": 900, \"input_length\": 300, \"output_length\": 2, \"hash_ids\": [5]}\n");
  ASSERT_TRUE(mooncake) << mooncake.error().line();
  const auto path = mooncake->paths.of(mooncake->requests[0].path);
  ASSERT_EQ(path.size(), 1u);
  EXPECT_EQ(path[0].tokens, 1024);
  EXPECT_EQ(mooncake->requests[2].path, -1);
  EXPECT_DOUBLE_EQ(mooncake->requests[1].arrival.base(), 0.5);
  const auto bailian = read(
      "{\"chat_id\": 159, \"parent_chat_id\": -1, \"timestamp\": 61.5, \"input_length\": 40, \"output_length\": 13, "
      "\"type\": \"text\", \"turn\": 1, \"hash_ids\": [8, 9, 10]}\n"
      "{\"chat_id\": 160, \"parent_chat_id\": 159, \"timestamp\": 62.5, \"input_length\": 60, \"output_length\": 8, "
      "\"type\": \"text\", \"turn\": 2, \"hash_ids\": [8, 9, 11, 12]}\n");
  ASSERT_TRUE(bailian) << bailian.error().line();
  EXPECT_EQ(bailian->paths.of(bailian->requests[1].path)[0].tokens, 32);
  EXPECT_DOUBLE_EQ(bailian->requests[1].arrival.base(), 1);
}

TEST_F(ServeTrace, ReadsAiperfsSessions) {
  const auto sessions = read(
      "{\"session_id\": \"s1\", \"input_length\": 900, \"output_length\": 50, \"timestamp\": 2000}\n"
      "{\"session_id\": \"s2\", \"input_length\": 300, \"output_length\": 60, \"timestamp\": 1000}\n"
      "{\"session_id\": \"s1\", \"input_length\": 40, \"output_length\": 70, \"delay\": 1500}\n");
  ASSERT_TRUE(sessions) << sessions.error().line();
  ASSERT_EQ(sessions->requests.size(), 3u);
  EXPECT_EQ(sessions->requests[2].after, 1);
  EXPECT_EQ(sessions->requests[2].input, 900 + 50 + 40);
  EXPECT_DOUBLE_EQ(sessions->requests[2].pause.base(), 1.5);
  EXPECT_DOUBLE_EQ(sessions->requests[1].arrival.base(), 1);
  const auto turns = read(
      "{\"session_id\": \"c\", \"turns\": [{\"role\": \"system\", \"text\": \"12345678\"}, {\"text\": \"abcd\", "
      "\"output_length\": 6}, {\"text\": \"abcdefgh\", \"delay\": 250, \"images\": [\"a.png\", \"b.png\"]}]}\n",
      {.output = 11});
  ASSERT_TRUE(turns) << turns.error().line();
  ASSERT_EQ(turns->requests.size(), 2u);
  EXPECT_EQ(turns->requests[0].input, 2 + 1);
  EXPECT_EQ(turns->requests[1].input, 3 + 6 + 2);
  EXPECT_EQ(turns->requests[1].output, 11);
  EXPECT_EQ(turns->requests[1].media, 2);
  EXPECT_DOUBLE_EQ(turns->requests[1].pause.base(), 0.25);
  EXPECT_EQ(turns->notes.size(), 1u);
}

TEST_F(ServeTrace, RefusesTurnsThatMakeNoSense) {
  EXPECT_NE(problem_of("{\"conversation\": \"a\", \"turn\": 2, \"input\": 5, \"output\": 1}\n"
                       "{\"conversation\": \"a\", \"turn\": 2, \"input\": 5, \"output\": 1}\n")
                .find(":2: turn: must be above"),
            std::string::npos);
  EXPECT_NE(problem_of("{\"conversation\": [], \"arrival\": 0, \"input\": 5, \"output\": 1}\n").find("conversation"),
            std::string::npos);
  EXPECT_NE(problem_of("{\"arrival\": 0, \"input\": 5, \"output\": 1, \"hash_ids\": [1.5]}\n").find("hash_ids"),
            std::string::npos);
  EXPECT_NE(problem_of("{\"session_id\": \"a\", \"turns\": []}\n").find("turns"), std::string::npos);
  EXPECT_NE(problem_of("{\"conversation\": 1, \"pause\": -1, \"input\": 5, \"output\": 1}\n").find("pause"),
            std::string::npos);
  EXPECT_NE(problem_of("{\"session_id\": \"a\", \"timestamp\": 0, \"input_length\": 5}\n").find("output: is missing"),
            std::string::npos);
}

TEST_F(ServeTrace, PromptsMayBeTheirTexts) {
  const auto trace = read(
      "{\"timestamp\": 0, \"text_input\": \"abcdefghij\", \"output_length\": 7}\n"
      "{\"timestamp\": 0, \"input_length\": 9, \"text_input\": \"x\", \"output_length\": 1}\n");
  ASSERT_TRUE(trace) << trace.error().line();
  ASSERT_EQ(trace->requests.size(), 2u);
  EXPECT_EQ(trace->requests[0].input, 3);  // ten characters
  EXPECT_EQ(trace->requests[1].input, 9);  // a length that is said counts
  ASSERT_EQ(trace->notes.size(), 1u);
  EXPECT_NE(trace->notes[0].find("four characters"), std::string::npos);
}

// Whatever stands in a trace that can be read, each of its requests is served, refused, given up or never sent.
TEST_F(ServeTrace, AFuzzedTraceLosesNothing) {
  Random random(16);
  const auto below = [&](std::uint64_t n) { return static_cast<Count>(random.below(n)); };
  Count served = 0, refused = 0, cancelled = 0, unsent = 0;
  for (int round = 0; round < 60; ++round) {
    std::string text;
    const Count lines = 20 + below(60);
    for (Count i = 0; i < lines; ++i) {
      std::string line = fmt::format("{{\"arrival\": {}, \"output\": {}", random.uniform() * 0.2, 1 + below(40));
      if (random.uniform() < 0.3) line += fmt::format(", \"conversation\": {}, \"pause\": {}", below(6), 0.01);
      if (random.uniform() < 0.1)
        line += fmt::format(", \"text_input\": \"{}\"", std::string(1 + random.below(90), 'x'));
      else line += fmt::format(", \"input\": {}", 1 + below(random.uniform() < 0.05 ? 5000 : 300));
      if (random.uniform() < 0.2) line += fmt::format(", \"prefix\": {}, \"prefix_tokens\": 1", below(3));
      if (random.uniform() < 0.2) line += fmt::format(", \"priority\": {}", below(3));
      if (random.uniform() < 0.2) line += fmt::format(", \"max_tokens\": {}", 1 + below(50));
      text += line + "}\n";
    }
    const auto trace = read(text);
    ASSERT_TRUE(trace) << trace.error().line() << "\n" << text;
    SimulationOptions o;
    o.pool = pool_of(kPolicies[static_cast<std::size_t>(round) % std::size(kPolicies)], 30 + below(200));
    o.pool.replicas = 1 + below(3);
    o.router = static_cast<Router>(round % 4);
    o.paths = &trace->paths;
    if (round % 3 == 0) o.first_token_timeout = milliseconds(5 + 40 * random.uniform());
    if (round % 5 == 0) o.total_timeout = milliseconds(10 + 80 * random.uniform());
    const auto out = simulate(trace->requests, o);
    ASSERT_TRUE(out) << out.error().line();
    ASSERT_EQ(out->requests.size(), static_cast<std::size_t>(lines));
    EXPECT_EQ(out->unfinished, 0);
    EXPECT_EQ(out->blocks_left, 0);
    for (const RequestRecord& r : out->requests) {
      EXPECT_EQ(r.served() + r.refused + r.cancelled + r.unsent, 1) << text;
      EXPECT_TRUE(!r.served() || r.given == r.output);
      served += r.served(), refused += r.refused, cancelled += r.cancelled, unsent += r.unsent;
    }
  }
  EXPECT_GT(served, 1000);
  EXPECT_GT(refused, 0);
  EXPECT_GT(cancelled, 0);
  EXPECT_GT(unsent, 0);
}

}  // namespace
}  // namespace tilecast
