#include "service/mcp/calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <semaphore>

#include "service/mcp/lines.h"

namespace tilecast {
namespace {

struct Sent {
  std::mutex lock;
  std::vector<std::string> messages;
  McpCalls::Send into() {
    return [this](const std::string& message) {
      const std::lock_guard hold(lock);
      messages.push_back(message);
    };
  }
};

TEST(McpCalls, EveryCallIsAnsweredOnce) {
  Sent sent;
  {
    McpCalls calls(
        2,
        [](const McpCall& call, const auto&, const std::stop_token&) {
          return Result<std::string>("[" + call.id + "]");
        },
        sent.into());
    for (int i = 0; i < 50; ++i) calls.add({std::to_string(i), "gpus", "{}", "", false});
    calls.finish(std::chrono::seconds(60));
  }
  ASSERT_EQ(sent.messages.size(), 50u);
  for (int i = 0; i < 50; ++i)
    EXPECT_THAT(sent.messages, testing::Contains(testing::HasSubstr("\"answers\":[" + std::to_string(i) + "]")));
}

TEST(McpCalls, ACancelledCallIsSilent) {
  Sent sent;
  std::binary_semaphore begun{0};
  {
    McpCalls calls(
        1,
        [&](const McpCall& call, const auto& progress, const std::stop_token& cancel) {
          if (call.id == "1") {
            progress(0.25);
            begun.release();
            while (!cancel.stop_requested()) std::this_thread::yield();
            progress(0.75);
          }
          return Result<std::string>(std::string("{}"));
        },
        sent.into());
    calls.add({"1", "plan serve", "{}", "9", false});
    calls.add({"2", "gpus", "{}", "", false});
    calls.add({"3", "gpus", "{}", "", false});
    begun.acquire();
    calls.cancel("3");  // before it begins
    calls.cancel("1");
    calls.cancel("77");  // nobody's
    calls.finish(std::chrono::seconds(60));
  }
  ASSERT_EQ(sent.messages.size(), 2u);
  EXPECT_THAT(sent.messages[0], testing::HasSubstr("notifications/progress"));
  EXPECT_THAT(sent.messages[1], testing::HasSubstr("\"id\":2"));
}

TEST(McpCalls, ProgressOnlyGrows) {
  Sent sent;
  {
    McpCalls calls(
        1,
        [](const McpCall&, const auto& progress, const std::stop_token&) {
          for (const double share : {0.1, 0.1, 0.05, 0.101, 0.2, 1.0}) progress(share);
          return Result<std::string>(error("no"));
        },
        sent.into());
    calls.add({"1", "simulate", "{}", "\"t\"", false});
    calls.finish(std::chrono::seconds(60));
  }
  ASSERT_EQ(sent.messages.size(), 4u);  // 0.1, 0.2, 1.0 and the answer
  EXPECT_THAT(sent.messages[3], testing::HasSubstr("\"isError\":true"));
}

TEST(BoundedLines, AreCutAtNewlinesAndAtTheBound) {
  std::vector<std::string> lines;
  BoundedLines cut(
      5, [&](std::string_view line, bool too_long) { lines.push_back(too_long ? "too long" : std::string(line)); });
  for (const char* part : {"ab", "c\r\n\nhel", "lo\n", "hello!", " and more\nx", "\nlast"}) cut.put(part);
  cut.finish();
  EXPECT_THAT(lines, testing::ElementsAre("abc", "", "hello", "too long", "x", "last"));
}

}  // namespace
}  // namespace tilecast
