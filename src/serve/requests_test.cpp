// Conversations, clients that give up and priorities through the simulator: by hand, and what every run keeps.
#include <gtest/gtest.h>

#include "serve/metrics.h"
#include "serve/simulator_testing.h"

namespace tilecast {
namespace {

ConversationOptions four_turns(Seconds think) {
  ConversationOptions o;
  o.turns = {LengthDistribution::Kind::uniform, 4, 0.75};
  o.added = {LengthDistribution::Kind::uniform, 30, 0.5};
  o.think = think, o.tool = think * 0.2, o.tools = 0.4;
  return o;
}

std::vector<Request> random_conversations(Random& random, Count count, Seconds think) {
  const auto made = conversations_of(random_requests(random, count, 100), four_turns(think));
  EXPECT_TRUE(made) << made.error().line();
  return made ? *made : std::vector<Request>{};
}

TEST(ServeRequests, TwoTurnsByHand) {
  SimulationOptions o;
  o.pool = pool_of(Policy::vllm, 100);
  o.pool.host.overlapped = false;
  Request first{seconds(0), 40, 4}, second{seconds(0), 60, 2};
  second.after = 0, second.history = true, second.pause = seconds(1);
  const auto out = simulate({first, second}, o);
  ASSERT_TRUE(out) << out.error().line();
  EXPECT_DOUBLE_EQ(out->requests[1].sent.base(), out->requests[0].last.base() + 1);
  // 40 tokens of the prompt and three of the answer have keys: two whole blocks of 16 of the first 43 ...
  EXPECT_EQ(out->requests[1].hits, 32);
  // ... so 28 tokens are computed, after 32.
  EXPECT_NEAR(out->requests[1].ttft().base(), 1e-3 + 28e-6 + 32e-9, 1e-12);
  expect_accounted({first, second}, o, *out);
}

// Whatever the engine keeps, a turn sees its history only through its conversation.
TEST(ServeRequests, HistoryIsFoundOnlyWithReuse) {
  for (const bool reuse : {false, true}) {
    Random random(3);
    const auto requests = random_conversations(random, 40, milliseconds(20));
    SimulationOptions o;
    o.pool = pool_of(Policy::vllm, 4000);
    o.pool.reuse = reuse;
    const auto out = simulate(requests, o);
    ASSERT_TRUE(out);
    EXPECT_EQ(metrics_of(*out).hit_rate > 0.3, reuse);
    expect_accounted(requests, o, *out);
  }
}

TEST(ServeRequests, OneTurnIsASingleRequest) {
  Random random(7);
  const auto firsts = random_requests(random, 150, 180);
  ConversationOptions once = four_turns(seconds(1));
  once.turns = {LengthDistribution::Kind::fixed, 1, 0};
  const auto same = conversations_of(firsts, once);
  ASSERT_TRUE(same);
  for (const Policy policy : kPolicies) {
    SimulationOptions o;
    o.pool = pool_of(policy, 60);
    const auto a = simulate(firsts, o), b = simulate(*same, o);
    ASSERT_TRUE(a && b);
    expect_same(*a, *b);
  }
}

// Turns that come after all else is over change nothing before.
TEST(ServeRequests, EndlessPausesAreSingleRequests) {
  Random random(9);
  const auto firsts = random_requests(random, 80, 120);
  const auto turns = conversations_of(firsts, four_turns(seconds(1e6)));
  ASSERT_TRUE(turns);
  SimulationOptions o;
  o.pool = pool_of(Policy::vllm, 80);
  const auto alone = simulate(firsts, o), with = simulate(*turns, o);
  ASSERT_TRUE(alone && with);
  std::size_t k = 0;
  for (std::size_t i = 0; i < turns->size(); ++i) {
    if ((*turns)[i].after >= 0) continue;
    EXPECT_DOUBLE_EQ(with->requests[i].last.base(), alone->requests[k].last.base()) << i;
    ++k;
  }
  EXPECT_EQ(k, firsts.size());
}

TEST(ServeRequests, ConversationsAreAccountedFor) {
  Random random(31);
  for (const Policy policy : kPolicies)
    for (int round = 0; round < 8; ++round) {
      SCOPED_TRACE(testing::Message() << name_of(policy) << " round " << round);
      SimulationOptions o;
      o.pool = pool_of(policy, 40 + static_cast<Count>(random.below(120)));
      o.pool.replicas = 1 + round % 2;
      o.pool.host.overlapped = round % 2 == 0;
      o.concurrency = round % 4 == 3 ? 4 : 0;
      o.context_limit = round % 3 == 2 ? 260 : 0;
      if (round % 4 == 2) {
        o.prefill = pool_of(policy, 64);
        o.link = {gigabytes_per_second(1e-3), microseconds(50)};
      }
      const auto requests = random_conversations(random, 60, milliseconds(30));
      const auto out = simulate(requests, o);
      ASSERT_TRUE(out) << out.error().line();
      expect_accounted(requests, o, *out);
    }
}

// A place is a conversation's until its last turn has ended.
TEST(ServeRequests, ConcurrencyCountsConversations) {
  Random random(13);
  const auto requests = random_conversations(random, 40, milliseconds(15));
  SimulationOptions o;
  o.pool = pool_of(Policy::vllm, 1000);
  o.concurrency = 3;
  const auto out = simulate(requests, o);
  ASSERT_TRUE(out);
  std::vector<std::pair<double, int>> changes;
  for (std::size_t i = 0; i < requests.size();) {
    std::size_t last = i;
    while (last + 1 < requests.size() && requests[last + 1].after >= 0) ++last;
    changes.emplace_back(out->requests[i].sent.base(), 1);
    changes.emplace_back(out->requests[last].last.base(), -1);
    i = last + 1;
  }
  std::sort(changes.begin(), changes.end());
  int open = 0;
  for (const auto& [time, change] : changes) EXPECT_LE(open += change, 3) << time;
}

TEST(ServeRequests, TurnsMustFollowSomebody) {
  SimulationOptions o;
  o.pool = pool_of(Policy::vllm, 100);
  Request r{seconds(0), 10, 2};
  r.after = 0;
  EXPECT_FALSE(simulate({r}, o));
  Request a{seconds(0), 10, 2}, b = a, c = a;
  b.after = c.after = 0, b.history = c.history = true;
  EXPECT_FALSE(simulate({a, b, c}, o));
  c.history = false;  // an agent's second call: only its time depends on the first
  EXPECT_TRUE(simulate({a, b, c}, o));
}

TEST(ServeRequests, GivesUpByHand) {
  SimulationOptions o;
  o.pool = pool_of(Policy::vllm, 100);
  o.pool.host.overlapped = false;
  o.total_timeout = milliseconds(2.5);  // steps end at 1.01, 2.011 and 3.012 ms
  const auto out = simulate({Request{seconds(0), 10, 9}, Request{seconds(1), 10, 1}}, o);
  ASSERT_TRUE(out);
  EXPECT_TRUE(out->requests[0].cancelled);
  EXPECT_EQ(out->requests[0].given, 2);
  EXPECT_DOUBLE_EQ(out->requests[0].last.base(), 2.5e-3);
  EXPECT_TRUE(out->requests[1].served());
  expect_accounted({Request{seconds(0), 10, 9}, Request{seconds(1), 10, 1}}, o, *out);
  const ServingMetrics m = metrics_of(*out);
  EXPECT_EQ(m.completed, 1);
  EXPECT_EQ(m.cancelled, 1);
  EXPECT_EQ(m.wasted_tokens, 2);
}

TEST(ServeRequests, PatienceWithoutEndChangesNothing) {
  Random random(17);
  const auto requests = random_requests(random, 200, 180);
  for (const Policy policy : kPolicies) {
    SimulationOptions o;
    o.pool = pool_of(policy, 40);
    const auto without = simulate(requests, o);
    o.first_token_timeout = o.total_timeout = seconds(1e6);
    const auto with = simulate(requests, o);
    ASSERT_TRUE(without && with);
    expect_same(*without, *with);
  }
}

TEST(ServeRequests, CancelledRequestsAreAccountedFor) {
  Random random(37);
  Count cancelled = 0;
  for (const Policy policy : kPolicies)
    for (int round = 0; round < 12; ++round) {
      SCOPED_TRACE(testing::Message() << name_of(policy) << " round " << round);
      SimulationOptions o;
      o.pool = pool_of(policy, 24 + static_cast<Count>(random.below(60)));
      o.pool.host.overlapped = round % 2 == 0;
      if (round % 3 != 1) o.first_token_timeout = milliseconds(5 + 10 * random.uniform());
      if (round % 3 != 0) o.total_timeout = milliseconds(20 + 60 * random.uniform());
      if (round % 4 == 1) o.pool.limits.speculation = {2, 0.5};
      if (round % 4 == 2) o.pool.stages = 2, o.pool.stage_share = 0.5, o.pool.limits.pipelined = true;
      if (policy == Policy::static_batch) o.pool.stages = 1, o.pool.limits.pipelined = false;
      o.concurrency = round % 5 == 3 ? 30 : 0;
      if (round % 4 == 3) {
        o.prefill = pool_of(policy, 64);
        o.link = {gigabytes_per_second(1e-3), microseconds(50)};
      }
      const auto requests =
          round % 2 ? random_conversations(random, 60, milliseconds(5)) : random_requests(random, 200, 180);
      const auto out = simulate(requests, o);
      ASSERT_TRUE(out) << out.error().line();
      expect_accounted(requests, o, *out);
      cancelled += out->cancellations;
      for (const RequestRecord& r : out->requests)
        if (r.served() && o.total_timeout) {
          EXPECT_LE(r.latency(), *o.total_timeout + nanoseconds(1));
        }
    }
  EXPECT_GT(cancelled, 500);
}

// Two that run and fill the cache: the less urgent has to go though it came first.
TEST(ServeRequests, PriorityDecidesWhoGoesAndWhoComes) {
  SimulationOptions o;
  o.pool = pool_of(Policy::vllm, 8);  // 128 tokens
  o.pool.reuse = false;
  std::vector<Request> requests(2, Request{seconds(0), 48, 60});
  requests[0].priority = 5;
  for (const bool by_priority : {false, true}) {
    o.pool.limits.by_priority = by_priority;
    const auto out = simulate(requests, o);
    ASSERT_TRUE(out);
    EXPECT_EQ(out->requests[0].preemptions, by_priority ? 1 : 0);
    EXPECT_EQ(out->requests[1].preemptions, by_priority ? 0 : 1);
    expect_conserved(requests, o, *out);
  }
  // Of many that wait, the urgent ones are first.
  o.pool = pool_of(Policy::vllm, 100);
  o.pool.limits.max_sequences = 1, o.pool.limits.by_priority = true;
  requests.assign(20, Request{seconds(0), 16, 8});
  for (std::size_t i = 0; i < requests.size(); ++i) requests[i].priority = static_cast<std::int32_t>(i % 2);
  const auto out = simulate(requests, o);
  ASSERT_TRUE(out);
  for (std::size_t i = 2; i + 1 < requests.size(); i += 2)
    for (std::size_t k = 1; k < requests.size(); k += 2)
      EXPECT_LT(out->requests[i].first, out->requests[k].first) << i << " " << k;
}

TEST(ServeRequests, PrioritiesConserve) {
  Random random(41);
  for (int round = 0; round < 20; ++round) {
    SCOPED_TRACE(round);
    SimulationOptions o;
    o.pool = pool_of(Policy::vllm, 18 + static_cast<Count>(random.below(60)));
    o.pool.limits.by_priority = true;
    o.pool.host.overlapped = round % 2 == 0;
    if (round % 3 == 1) o.pool.limits.speculation = {2, 0.5};
    if (round % 4 == 3) o.total_timeout = milliseconds(60);
    auto requests = random_requests(random, 150, 180);
    for (Request& r : requests) r.priority = static_cast<std::int32_t>(random.below(3));
    const auto out = simulate(requests, o);
    ASSERT_TRUE(out);
    if (o.total_timeout) expect_accounted(requests, o, *out);
    else expect_conserved(requests, o, *out);
  }
}

Count hits_of(const ServingOutcome& out) {
  Count hits = 0;
  for (const RequestRecord& r : out.requests) hits += r.hits;
  return hits;
}

// A router that knows what it sent where keeps a conversation on the replica that has its history.
TEST(ServeRequests, PrefixAwareRoutersKeepConversationsTogether) {
  Random random(61);
  const auto requests = random_conversations(random, 120, milliseconds(200));
  const auto served = [&](Router router, Count replicas) {
    SimulationOptions o;
    o.pool = pool_of(Policy::vllm, 4000);
    o.pool.replicas = replicas;
    o.router = router;
    const auto out = simulate(requests, o);
    EXPECT_TRUE(out);
    expect_accounted(requests, o, *out);
    return hits_of(*out);
  };
  const Count alone = served(Router::round_robin, 1);
  EXPECT_EQ(served(Router::prefix_aware, 1), alone);
  EXPECT_GT(served(Router::prefix_aware, 4), 9 * alone / 10);
  EXPECT_LT(served(Router::round_robin, 4), 7 * alone / 10);
}

// Clients that give up while replicas come and go: everyone is accounted for.
TEST(ServeRequests, FleetsOfImpatientConversations) {
  Random random(71);
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE(round);
    SimulationOptions o;
    o.pool = pool_of(Policy::vllm, 80);
    o.pool.offload.tiers = {KvTier{round % 2 == 0 ? Count{60} : Count{0}, microseconds(10), microseconds(5)}, KvTier{}};
    o.pool.offload.compute_block = milliseconds(1);
    o.autoscale = AutoscaleOptions{};
    o.autoscale->least = 1, o.autoscale->most = 4, o.autoscale->target = 2;
    o.autoscale->interval = milliseconds(50), o.autoscale->start_up = milliseconds(round % 3 == 0 ? 0 : 80);
    o.router = round % 2 == 0 ? Router::prefix_aware : Router::power_of_two;
    o.total_timeout = milliseconds(150);
    const auto requests = random_conversations(random, 80, milliseconds(40));
    const auto out = simulate(requests, o);
    ASSERT_TRUE(out) << out.error().line();
    EXPECT_EQ(out->blocks_left, 0);
    EXPECT_EQ(out->unfinished, 0);
    Count done = 0;
    for (const RequestRecord& r : out->requests) done += r.served() + r.cancelled + r.refused + r.unsent;
    EXPECT_EQ(done, static_cast<Count>(requests.size()));
  }
}

}  // namespace
}  // namespace tilecast
