#include "serve/plan_requests.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tilecast {
namespace {

Request request_at(double time, Count input = 100, Count output = 10) {
  Request r;
  r.arrival = seconds(time), r.input = input, r.output = output;
  return r;
}
std::vector<Request> evenly(Count number, double gap) {
  std::vector<Request> requests;
  for (Count i = 0; i < number; ++i) requests.push_back(request_at(gap * static_cast<double>(i)));
  return requests;
}
PlanRequests recorded(const std::vector<Request>& requests, Count most = 1'000'000,
                      Statistic statistic = Statistic::p90, SharedPaths paths = {}) {
  auto result = plan_requests(requests, std::move(paths), most, statistic);
  EXPECT_TRUE(result) << result.error().line();
  return result ? *std::move(result) : PlanRequests{};
}

TEST(PlanRequests, TheSameRequestsFasterAndSlower) {
  std::vector<Request> requests = evenly(11, 0.5);
  Request turn = request_at(0);
  turn.after = 0, turn.history = true, turn.pause = seconds(3);
  requests.push_back(turn);
  const PlanRequests r = recorded(requests);
  EXPECT_DOUBLE_EQ(r.rate, 2);  // ten gaps of half a second
  EXPECT_NEAR(r.each, 12.0 / 11, 1e-12);
  const auto faster = sent_at(r, 8);
  ASSERT_EQ(faster.size(), requests.size());
  EXPECT_NEAR(faster[10].arrival.base(), 5.0 / 4, 1e-12);
  EXPECT_EQ(faster[11].pause, seconds(3));
  EXPECT_NEAR(r.at_one.rate, 12.0 / 11, 1e-12);  // a conversation's turns are requests
}

TEST(PlanRequests, TheBusiestStretchWithItsConversations) {
  std::vector<Request> requests = evenly(20, 1);                                // one a second
  for (int i = 0; i < 10; ++i) requests.push_back(request_at(19.1 + 0.1 * i));  // ten a second
  Request turn = request_at(0);
  turn.after = 25, turn.history = true;
  requests.push_back(turn);
  const PlanRequests r = recorded(requests, 10);
  EXPECT_NEAR(r.rate, 10, 1e-6);
  EXPECT_EQ(r.left_out, static_cast<Count>(requests.size() - r.requests.size()));
  EXPECT_EQ(r.requests.front().arrival, seconds(0));
  Count turns = 0;
  for (const Request& each : r.requests)
    if (each.after >= 0) {
      ++turns;
      EXPECT_LT(each.after, static_cast<std::int32_t>(r.requests.size()));
      EXPECT_EQ(r.requests[static_cast<std::size_t>(each.after)].after, -1);
    }
  EXPECT_EQ(turns, 1);
}

TEST(PlanRequests, ReplicasAreCountedByTheRateThatBurstsHave) {
  WorkloadOptions w;
  w.requests = 5000, w.rate = 10, w.input.mean = 100, w.output.mean = 10;
  const auto poisson = generate(w);
  ASSERT_TRUE(poisson);
  EXPECT_NEAR(recorded(*poisson).at_one.rate, 1, 0.05);  // chance alone asks for no more
  // Half of the requests come at four times the rate of the others.
  std::vector<Request> bursty = evenly(1000, 0.4);
  for (int i = 0; i < 1000; ++i) bursty.push_back(request_at(400 + 0.1 * i));
  const PlanRequests r = recorded(bursty);
  EXPECT_NEAR(r.rate, 1999 / 499.9, 0.01);
  EXPECT_NEAR(r.at_one.rate * r.rate, 10 / (1 + 1.2816 / 10), 0.2);
  EXPECT_NEAR(recorded(bursty, 1'000'000, Statistic::mean).at_one.rate * r.rate, (2.5 + 10) / 2, 0.5);
}

TEST(PlanRequests, TokensFoundAgainAndMeans) {
  std::vector<Request> requests = evenly(3, 1);
  for (Request& r : requests) r.prefix = 7, r.prefix_tokens = 60;
  Request turn = request_at(0, 150, 20);
  turn.after = 2, turn.history = true;
  requests.push_back(turn);
  const PlanRequests r = recorded(requests);
  EXPECT_EQ(r.at_one.cached, std::lround((0 + 60 + 60 + 110) / 4.0));
  EXPECT_EQ(r.at_one.input.mean, std::lround((300 + 150) / 4.0));
  EXPECT_EQ(r.at_one.output.mean, std::lround((30 + 20) / 4.0));
  EXPECT_GT(variation(r.at_one.input), 0);
}

TEST(PlanRequests, BlocksOfAPathCountToTheDeepestThatIsKnown) {
  std::vector<Request> requests = evenly(2, 1);
  requests[0].path = 0, requests[1].path = 1;
  SharedPaths paths;
  paths.segments = {{1, 32}, {2, 64}, {1, 32}, {3, 80}};
  paths.ends = {2, 4};
  EXPECT_EQ(recorded(requests, 100, Statistic::p90, paths).at_one.cached, 16);  // 0 and 32
}

TEST(PlanRequests, AllAtOnceHaveNoRate) {
  const auto none = plan_requests(evenly(5, 0), {}, 100, Statistic::p90);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().field, "trace");
}

}  // namespace
}  // namespace tilecast
