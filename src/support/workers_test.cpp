#include "support/workers.h"

#include <gtest/gtest.h>

namespace tilecast {
namespace {

TEST(ParallelFor, CallsEachItemOnceWhateverTheBatches) {
  for (const int threads : {1, 3}) {
    Workers workers(threads);
    for (const std::size_t batch : {1u, 7u, 100u, 1000u}) {
      std::vector<int> calls(100, 0);
      EXPECT_TRUE(parallel_for(workers, {calls.size(), batch}, [&](std::size_t i) { ++calls[i]; }));
      EXPECT_EQ(calls, std::vector<int>(100, 1)) << threads << " threads, batches of " << batch;
    }
    EXPECT_TRUE(parallel_for(workers, {0, 8}, [](std::size_t) { FAIL() << "there is nothing to call"; }));
  }
}

TEST(ParallelFor, TellsHowFarItIsOnTheCallersThread) {
  Workers workers(1);
  std::vector<double> shares;
  EXPECT_TRUE(
      parallel_for(workers, {8, 2}, [](std::size_t) {}, {.progress = [&](double share) { shares.push_back(share); }}));
  EXPECT_EQ(shares, (std::vector<double>{0.25, 0.5, 0.75, 1}));

  Workers several(4);
  const auto caller = std::this_thread::get_id();
  double last = 0;
  EXPECT_TRUE(parallel_for(several, {1000, 3}, [](std::size_t) {}, {.progress = [&](double share) {
                             EXPECT_EQ(std::this_thread::get_id(), caller);
                             EXPECT_GT(share, last);
                             last = share;
                           }}));
}

TEST(ParallelFor, LeavesOutWhatHadNotBegunWhenCancelled) {
  Workers workers(1);
  std::stop_source stop;
  std::vector<std::size_t> called;
  EXPECT_FALSE(parallel_for(workers, {10, 2},
                            [&](std::size_t i) {
                              called.push_back(i);
                              if (i == 2) stop.request_stop();
                            },
                            {.cancel = stop.get_token()}));
  EXPECT_EQ(called, (std::vector<std::size_t>{0, 1, 2, 3}));  // the batch that had begun is finished
}

}  // namespace
}  // namespace tilecast
