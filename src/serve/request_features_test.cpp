// Drafts, adapters, bounded answers, classes and images through the simulator.
#include <gtest/gtest.h>

#include "serve/metrics.h"
#include "serve/simulator_testing.h"

namespace tilecast {
namespace {

TEST(ServeFeatures, AcceptanceOfAllAlikeIsOneProbability) {
  Random random(43);
  const auto requests = random_requests(random, 120, 150);
  for (const Policy policy : kPolicies) {
    SimulationOptions o;
    o.pool = pool_of(policy, 80);
    o.pool.limits.speculation = {4, 0.6};
    const auto one = simulate(requests, o);
    o.pool.limits.speculation.by_position = {0.6, 0.6, 0.6, 0.6};
    const auto list = simulate(requests, o);
    ASSERT_TRUE(one && list);
    expect_same(*one, *list);
  }
  // The first always, the second never: two tokens a step.
  SimulationOptions o;
  o.pool = pool_of(Policy::vllm, 80);
  o.pool.limits.speculation = {3, 0.5, {1, 0, 1}};
  const auto out = simulate({Request{seconds(0), 10, 21}}, o);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->steps.size(), 11u);
}

TEST(ServeFeatures, AdaptersByHand) {
  AdapterSlots slots(2);
  Sequence a, b, c;
  a.request.adapter = 0, b.request.adapter = 1, c.request.adapter = 2;
  const auto step = [&](std::vector<Sequence*> who) {
    StepPlan plan;
    for (Sequence* s : who) plan.items.push_back({s, 1});
    plan.batch.decodes = static_cast<Count>(who.size());
    slots.note(plan);
    return plan.batch;
  };
  EXPECT_EQ(step({&a, &b, &a}).swaps, 2);
  EXPECT_EQ(step({&a}).swaps, 0);
  EXPECT_EQ(step({&c, &a}).swaps, 1);  // in b's place
  const StepBatch back = step({&b, &a});
  EXPECT_EQ(back.swaps, 1);
  EXPECT_EQ(back.adapters, 2);
  EXPECT_EQ(back.adapter_tokens, 2);
}

TEST(ServeFeatures, AdaptersShareStepsWithinTheirLimit) {
  Random random(47);
  for (const Policy policy : {Policy::vllm, Policy::sglang})
    for (const Count most : {1, 2, 8}) {
      SCOPED_TRACE(testing::Message() << name_of(policy) << " " << most);
      SimulationOptions o;
      o.pool = pool_of(policy, 100);
      const auto plain_requests = random_requests(random, 120, 120);
      auto requests = plain_requests;
      give_adapters(requests, 6, 1);
      o.pool.limits.adapters = o.pool.features.adapter_slots = most;
      Count largest = 0;
      o.pool.features.adapters = [&](const StepBatch& b) {
        largest = std::max(largest, b.adapters);
        return StepCost::Spent{};
      };
      const auto out = simulate(requests, o);
      ASSERT_TRUE(out);
      expect_conserved(requests, o, *out);
      EXPECT_LE(largest, most);
      EXPECT_GT(largest, 0);
      // No limit that binds and no cost: as without.
      if (most < 8) continue;
      SimulationOptions plain;
      plain.pool = pool_of(policy, 100);
      const auto alone = simulate(plain_requests, plain);
      ASSERT_TRUE(alone);
      expect_same(*alone, *out);
    }
}

// What a request may ask for is what TensorRT-LLM keeps free for it, and what SGLang reckons with.
TEST(ServeFeatures, EnginesReckonWithTheLongestAnswer) {
  for (const Policy policy : {Policy::trtllm_no_evict, Policy::sglang}) {
    SimulationOptions o;
    o.pool = pool_of(policy, 40);
    std::vector<Request> requests(20, Request{seconds(0), 32, 8});
    const auto exact = simulate(requests, o);
    for (Request& r : requests) r.most_output = 200;
    const auto longest = simulate(requests, o);
    ASSERT_TRUE(exact && longest);
    EXPECT_GT(longest->end, exact->end) << name_of(policy);
    expect_conserved(requests, o, *longest);
    for (Request& r : requests) r.most_output = 2000;  // more than the cache holds
    const auto none = simulate(requests, o);
    ASSERT_TRUE(none);
    EXPECT_EQ(none->refusals, 20);
  }
  std::vector<Request> cut(3, Request{seconds(0), 32, 80});
  bound_answers(cut, 50);
  EXPECT_EQ(cut[0].output, 50);
  EXPECT_EQ(cut[0].longest(), 50);
}

TEST(ServeFeatures, ClassesHaveSharesAndGoodputOfTheirOwn) {
  Random random(53);
  auto requests = random_requests(random, 4000, 60);
  Slo strict, easy;
  strict.ttft = nanoseconds(1), easy.ttft = seconds(1e6);
  const std::vector<RequestClass> classes = {{"chat", 3, 0, easy}, {"batch", 1, 4, strict}};
  ASSERT_TRUE(give_classes(requests, classes, true, false, 5));
  SimulationOptions o;
  o.pool = pool_of(Policy::vllm, 4000);
  const auto out = simulate(requests, o);
  ASSERT_TRUE(out);
  const ServingMetrics m = metrics_of(*out, {}, classes);
  ASSERT_EQ(m.classes.size(), 2u);
  EXPECT_EQ(m.classes[0].completed + m.classes[1].completed, 4000);
  EXPECT_NEAR(static_cast<double>(m.classes[0].completed), 3000, 100);
  EXPECT_DOUBLE_EQ(*m.classes[1].goodput, 0);
  EXPECT_DOUBLE_EQ(*m.classes[0].goodput, *m.goodput);
  // Priorities of the classes, unless requests have their own.
  EXPECT_EQ(requests[0].priority, classes[static_cast<std::size_t>(requests[0].group)].priority);
  requests[0].priority = 9;
  ASSERT_TRUE(give_classes(requests, classes, false, true, 5));
  EXPECT_EQ(requests[0].priority, 9);
  requests[0].group = 7;
  EXPECT_FALSE(give_classes(requests, classes, false, false, 5));
}

// A class's own lengths are drawn for its requests alone; the others, and all arrivals, stay as they were.
TEST(ServeFeatures, ClassesHaveLengthsOfTheirOwn) {
  Random random(59);
  const auto before = random_requests(random, 2000, 60);
  auto requests = before;
  std::vector<RequestClass> classes = {{"chat", 1, 0, {}}, {"json", 1, 0, {}, "uniform:400:0.5", "64", true}};
  ASSERT_TRUE(give_classes(requests, classes, true, false, 5));
  double input = 0;
  Count guided = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Request &r = requests[i], &was = before[i];
    EXPECT_EQ(r.arrival, was.arrival);
    EXPECT_EQ(r.guided, r.group == 1);
    if (r.group == 0) {
      EXPECT_EQ(r.input, was.input);
      EXPECT_EQ(r.output, was.output);
      continue;
    }
    EXPECT_EQ(r.output, 64);
    EXPECT_GE(r.input, std::max<Count>(200, r.prefix_tokens + 1));
    input += static_cast<double>(r.input), ++guided;
  }
  EXPECT_NEAR(static_cast<double>(guided), 1000, 100);
  EXPECT_NEAR(input / static_cast<double>(guided), 400, 15);
  auto again = before;  // a trace's requests keep theirs
  for (Request& r : again) r.group = 1;
  ASSERT_TRUE(give_classes(again, classes, false, false, 5));
  EXPECT_EQ(again[0].output, before[0].output);
  EXPECT_TRUE(again[0].guided);
  classes[1].output = "uniform:x";
  EXPECT_FALSE(give_classes(requests, classes, true, false, 5));
}

class FixedCost final : public StepCost {
 public:
  explicit FixedCost(Seconds time) : time_(time) {}
  Seconds of(const StepBatch&) const override { return time_; }

 private:
  Seconds time_;
};

// The host makes a mask for every guided token, 40 us each: sixteen requests take 0.64 ms a step where the host sets
// the pace, and nothing where it waits for the GPU.
TEST(ServeFeatures, GrammarsTakeTheHostsTime) {
  for (const double step_ms : {0.1, 50.0}) {
    SimulationOptions o;
    const FixedCost cost(milliseconds(step_ms));
    o.pool = pool_of(Policy::vllm, 4000);
    o.pool.cost = &cost;
    std::vector<Request> requests(16, Request{seconds(0), 16, 40});
    const auto free = simulate(requests, o);
    for (Request& r : requests) r.guided = true;
    const auto guided = simulate(requests, o);
    ASSERT_TRUE(free && guided);
    expect_conserved(requests, o, *guided);
    const double longer = (guided->end - free->end).base();
    EXPECT_NEAR(longer, step_ms < 1 ? 40 * (16 * 40e-6 - 0.1e-3) : 0, 1e-3);
  }
}

// Images are encoded once, before the prompt; a later turn that finds its history encodes only what is new.
TEST(ServeFeatures, ImagesAreEncodedOnce) {
  std::vector<Request> requests(2, Request{seconds(0), 40, 4});
  requests[1].input = 70, requests[1].after = 0, requests[1].history = true;
  requests[1].media = 1;
  add_media(requests, 2, 100);
  EXPECT_EQ(requests[0].input, 240);
  EXPECT_EQ(requests[1].media, 3);
  EXPECT_EQ(requests[1].input, 370);
  for (const bool reuse : {true, false}) {
    SimulationOptions o;
    o.pool = pool_of(Policy::vllm, 100);
    o.pool.reuse = reuse;
    Count encoded = 0;
    o.pool.features.encoder = [&](const StepBatch& b) {
      encoded += b.encodes;
      return StepCost::Spent{milliseconds(10) * static_cast<double>(b.encodes), 0};
    };
    const auto out = simulate(requests, o);
    ASSERT_TRUE(out);
    EXPECT_EQ(encoded, reuse ? 3 : 5);
    EXPECT_GT(out->requests[0].ttft(), milliseconds(20));
    expect_accounted(requests, o, *out);
  }
}

}  // namespace
}  // namespace tilecast
