#include "service/http/jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace tilecast {
namespace {

using testing::HasSubstr;

// Runs until it is told to stop.
Result<std::string> endless(const AskWatch& watch) {
  while (!watch.cancel.stop_requested()) {
    watch.progress(0.25);
    std::this_thread::yield();
  }
  return error("was cancelled");
}
std::string awaited(const HttpJobs& jobs, const std::string& id, const std::string& state) {
  std::string text;
  do text = *jobs.status(id);
  while (text.find("\"state\":\"" + state + "\"") == std::string::npos);
  return text;
}

TEST(HttpJobs, RunAndKeepTheirAnswer) {
  HttpJobs jobs({});
  const auto id = jobs.start("counting", 10, [](const AskWatch&) { return Result<std::string>("{\"a\": 1}\n"); });
  ASSERT_TRUE(id);
  EXPECT_EQ(id->size(), 32u);
  EXPECT_THAT(awaited(jobs, *id, "done"), HasSubstr("\"answer\":{\"a\": 1}"));
  EXPECT_EQ(jobs.by_state().at("done"), 1u);
}

TEST(HttpJobs, AreCancelledWhereverTheyAre) {
  HttpJobs jobs({.threads = 1});
  const auto running = jobs.start("waiting", 0, endless), queued = jobs.start("waiting", 0, endless);
  EXPECT_THAT(awaited(jobs, *running, "running"), HasSubstr("\"of\":100"));
  EXPECT_THAT(*jobs.cancel(*queued), HasSubstr("cancelled"));
  EXPECT_TRUE(jobs.cancel(*running));
  EXPECT_THAT(awaited(jobs, *running, "cancelled"), HasSubstr("was cancelled"));
  EXPECT_FALSE(jobs.cancel("nobody"));
  const auto last = jobs.start("waiting", 0, endless);  // ends with the jobs themselves
  awaited(jobs, *last, "running");
}

TEST(HttpJobs, EndWhenTheyTakeTooLong) {
  HttpJobs jobs({.time = std::chrono::milliseconds(1)});
  const auto id = jobs.start("waiting", 0, endless);
  EXPECT_THAT(awaited(jobs, *id, "failed"), HasSubstr("took too long"));
}

TEST(HttpJobs, AreBoundedInNumberAndBytes) {
  HttpJobs jobs({.threads = 1, .most = 2, .bytes = 100});
  EXPECT_FALSE(jobs.start("x", 101, endless));
  const auto first = jobs.start("x", 60, endless);
  EXPECT_FALSE(jobs.start("x", 60, endless));
  EXPECT_TRUE(jobs.start("x", 10, endless));
  EXPECT_FALSE(jobs.start("x", 10, endless));
}

TEST(HttpJobs, OldOnesMakeRoom) {
  HttpJobs jobs({.threads = 1, .most = 1, .kept = std::chrono::milliseconds(0)});
  const auto id = jobs.start("x", 0, [](const AskWatch&) { return Result<std::string>("1"); });
  awaited(jobs, *id, "done");
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_TRUE(jobs.start("x", 0, [](const AskWatch&) { return Result<std::string>("1"); }));
  EXPECT_FALSE(jobs.status(*id));
}

TEST(HttpJobs, WhatThrowsFails) {
  HttpJobs jobs({});
  const auto id = jobs.start("x", 0, [](const AskWatch&) -> Result<std::string> { throw std::bad_alloc(); });
  EXPECT_THAT(awaited(jobs, *id, "failed"), HasSubstr("memory ran out"));
}

// Everybody at once.
TEST(HttpJobs, ManyThreads) {
  HttpJobs jobs({.threads = 3, .most = 1000});
  std::vector<std::jthread> clients;
  std::atomic<int> done{0};
  for (int c = 0; c < 4; ++c)
    clients.emplace_back([&, c] {
      for (int i = 0; i < 20; ++i) {
        const bool cancelled = (i + c) % 2 == 0;
        const auto id = jobs.start(
            "x", 1, cancelled ? HttpJobs::Work(endless) : [](const AskWatch& watch) {
              watch.progress(0.5);
              return Result<std::string>("2");
            });
        if (!id) continue;
        if (cancelled) {
          EXPECT_TRUE(jobs.cancel(*id));
        }
        awaited(jobs, *id, cancelled ? "cancelled" : "done");
        ++done;
      }
    });
  clients.clear();
  EXPECT_EQ(done, 80);
}

}  // namespace
}  // namespace tilecast
