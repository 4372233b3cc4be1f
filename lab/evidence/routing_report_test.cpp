#include "lab/evidence/routing_report.h"

#include <gtest/gtest.h>

#include "model/library.h"

namespace tilecast {
namespace {

ServingCase case_of(const char* model, Count concurrency) {
  ServingCase one;
  one.label.model = model;
  one.deployment.model = *find_model(model);
  one.concurrency = concurrency;
  return one;
}

TEST(RoutingReport, TakesLoadedModelsWithExperts) {
  ServingCase apart = case_of("Qwen3-30B-A3B", 32);
  apart.prefill = apart.deployment;
  const std::vector<ServingCase> all = {case_of("Llama-3.1-8B", 32),   // no experts
                                        apart,                         // pools of their own
                                        case_of("Qwen3-30B-A3B", 8),   // few requests
                                        case_of("Qwen3-30B-A3B", 16),  //
                                        case_of("Qwen3-30B-A3B", 32),  //
                                        case_of("Qwen3-30B-A3B", 64),  //
                                        case_of("Qwen3-30B-A3B", 128)};
  const auto some = routing_cases(all, {});
  ASSERT_EQ(some.size(), 3u);
  EXPECT_EQ(some[0].concurrency, 16);
  EXPECT_EQ(some[2].concurrency, 64);
  RoutingChoice choice;
  choice.every = 2;
  const auto fewer = routing_cases(all, choice);
  ASSERT_EQ(fewer.size(), 2u);
  EXPECT_EQ(fewer[1].concurrency, 64);
}

TEST(RoutingReport, ALawThatIsNoneIsNamed) {
  RoutingChoice choice;
  choice.laws = {"by dice"};
  const auto report = routing_report({}, choice, Method::roofline, nullptr);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().field, "routing");
}

}  // namespace
}  // namespace tilecast
