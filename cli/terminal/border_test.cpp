#include "cli/terminal/border.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "cli/cli_testing.h"
#include "support/workers.h"

namespace tilecast {
namespace {

TEST(Border, NoExceptionPasses) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(guarded("tilecast", []() -> int { throw std::bad_alloc(); }), kFailed);
  EXPECT_EQ(guarded("tilecast", []() -> int { throw std::runtime_error("two\nlines"); }), kFailed);
  EXPECT_EQ(guarded("tilecast", [] { return 7; }), 7);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, testing::StartsWith("tilecast: ran out of memory"));
  EXPECT_THAT(said, testing::HasSubstr("two\\nlines"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 2);
}

// An exception on another thread would end the program before the border could say so.
TEST(Border, ExceptionsOfWorkersComeBackToTheirCaller) {
  Workers workers(3);
  for (int round = 0; round < 3; ++round) {
    EXPECT_THROW(workers.each(100,
                              [](std::size_t i) {
                                if (i == 50) throw std::bad_alloc();
                              }),
                 std::bad_alloc);
    std::atomic<int> done = 0;
    workers.each(100, [&](std::size_t) { ++done; });  // and the pool goes on
    EXPECT_EQ(done, 100);
  }
}

// What cannot be written is said, whichever command wrote it.
TEST(Border, AFullDiskIsNoticed) {
  for (const char* command : {"--help", "--version", "gpus", "gpus --json", "models", "clusters", "gpu show H100-SXM",
                              "predict --help", "kernel softmax --rows 8 --cols 8 --gpu H100-SXM",
                              "predict gpt2 --gpu H100-SXM --seq 8", "memory gpt2 --gpu H100-SXM --seq 8"}) {
    SCOPED_TRACE(command);
    const Ran ran = run_tilecast(std::string(command) + " > /dev/full");
    EXPECT_EQ(ran.code, kFailed);
    EXPECT_THAT(ran.err, testing::StartsWith("tilecast: standard output: could not be written to its end"));
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1);
  }
}

}  // namespace
}  // namespace tilecast
