#include "serve/plan_context.h"

#include <gtest/gtest.h>

#include "model/library.h"

namespace tilecast {
namespace {

ServeQuery query_of(const std::string& model, Count input, Count output) {
  ServeQuery q;
  q.model = *find_model(model);
  q.workload.rate = 1, q.workload.input.mean = input, q.workload.output.mean = output;
  return q;
}

// A cache that is a little smaller than forecast must not keep a server from starting.
TEST(PlanContext, StaysClearOfTheCacheAndHoldsTheLoad) {
  const ServeQuery scout = query_of("Llama-4-Scout", 1024, 256);
  ASSERT_GT(scout.model.max_context, 2294896);
  const Count limit = context_limit_of(scout, 2294896);
  EXPECT_GE(limit, 1280);
  EXPECT_LT(limit, 2294896 * 9 / 10 + 1);
  EXPECT_EQ(limit, 2048);
  const ServeQuery llama = query_of("Llama-3.1-8B", 1024, 256);
  EXPECT_EQ(context_limit_of(llama, 10 * llama.model.max_context), 0);  // the model's own
  // By a hair is not by a clear margin.
  EXPECT_EQ(context_limit_of(llama, llama.model.max_context + 16), 2048);
  // So little room that no more than the load fits: the load.
  EXPECT_EQ(context_limit_of(llama, 1300), 1280);
  // Never beyond the model.
  const ServeQuery long_ones = query_of("Llama-3.1-8B", llama.model.max_context - 256, 256);
  EXPECT_EQ(context_limit_of(long_ones, llama.model.max_context + 16), llama.model.max_context);
  ServeQuery asked = llama;
  asked.context_limit = 4096;
  EXPECT_EQ(context_limit_of(asked, 100000), 4096);
}

TEST(PlanContext, TheLongestRequestIsOfThoseThatCome) {
  ServeQuery q = query_of("Llama-3.1-8B", 1000, 200);
  EXPECT_EQ(longest_request(q), 1200);
  q.workload.input.kind = LengthDistribution::Kind::uniform, q.workload.input.spread = 0.5;
  EXPECT_GT(longest_request(q), 1650);
  EXPECT_LE(longest_request(q), 1700);
  Request longest;
  longest.input = 5000, longest.output = 10;
  q.recorded.requests = {Request{}, longest};
  EXPECT_EQ(longest_request(q), 5010);
}

}  // namespace
}  // namespace tilecast
