#include "serve/kv_tiers.h"

#include <gtest/gtest.h>

#include "serve/kv_cache.h"
#include "serve/simulator_testing.h"

namespace tilecast {
namespace {

KvOffload host_of(Count blocks, Seconds per_block = seconds(0)) {
  KvOffload o;
  o.tiers[0] = {blocks, per_block, seconds(0)};
  o.compute_block = milliseconds(1);
  return o;
}

TEST(ServeKvTiers, HostThenDiskLeastRecentFirst) {
  KvOffload o = host_of(10);
  o.tiers[1] = {5, microseconds(10), seconds(0)};
  KvTiers tiers(o);
  tiers.store(1, 6), tiers.store(2, 6);
  EXPECT_EQ(tiers.held(0), 10);
  EXPECT_EQ(tiers.held(1), 2);  // the end of the first
  EXPECT_EQ(tiers.found(1, 100).blocks, (std::array<Count, 2>{4, 2}));
  EXPECT_EQ(tiers.found(1, 3).blocks, (std::array<Count, 2>{3, 0}));
  tiers.store(3, 9);
  EXPECT_EQ(tiers.held(0), 10);
  EXPECT_EQ(tiers.held(1), 5);
  EXPECT_EQ(tiers.found(3, 100).sum(), 9);
  tiers.load(3, tiers.found(3, 100));
  EXPECT_EQ(tiers.found(3, 100).sum(), 0);
  EXPECT_EQ(tiers.held(0), 1);
  const KvMoves moves = tiers.take_moves();
  EXPECT_EQ(moves.loaded[0], 9);
  EXPECT_EQ(moves.stored[0], 21);
  EXPECT_FALSE(tiers.take_moves().any());
}

TEST(ServeKvTiers, LoadsOnlyWhatIsWorthIt) {
  KvOffload o = host_of(10, microseconds(100));
  o.tiers[0].latency = milliseconds(2);
  KvTiers tiers(o);
  tiers.store(1, 10);
  EXPECT_EQ(tiers.found(1, 2).sum(), 0);    // 2.2 ms against 2
  EXPECT_EQ(tiers.found(1, 10).sum(), 10);  // 3 ms against 10
  o.always = true;
  KvTiers all(o);
  all.store(1, 10);
  EXPECT_EQ(all.found(1, 2).sum(), 2);
  KvTiers never(host_of(10, milliseconds(1)));
  never.store(1, 10);
  EXPECT_EQ(never.held(0), 0);
}

TEST(ServeKvTiers, TimesByHand) {
  KvOffload o = host_of(10, microseconds(100));
  o.tiers[0].latency = microseconds(20);
  o.tiers[1] = {10, microseconds(500), microseconds(100)};
  EXPECT_DOUBLE_EQ(time_of({{3, 0}, {0, 0}}, o).base(), 320e-6);
  EXPECT_DOUBLE_EQ(time_of({{0, 2}, {0, 0}}, o).base(), 1100e-6);
  EXPECT_DOUBLE_EQ(time_of({{3, 0}, {8, 9}}, o).base(), 820e-6);
  EXPECT_EQ(time_of({}, o), seconds(0));
}

TEST(ServeKvTiers, AChainComesBackFromTheHost) {
  KvCache cache(10, {16, {{100, 0}}, 0}, true, host_of(100));
  const KvKey first{1, 7, 80}, second{2, 7, 80};
  KvHolding a, b;
  cache.grow(a, 80), cache.publish(a, first, 80), cache.release(a, first, 80);
  EXPECT_TRUE(cache.grow(b, 160));  // everything is given up
  EXPECT_EQ(cache.take_moves().stored[0], 5);
  EXPECT_EQ(cache.cached(second, 100), 80);
  EXPECT_EQ(cache.cached_idle_blocks(second, 100), 5);
  cache.release(b, {9}, 0);
  KvHolding c;
  EXPECT_EQ(cache.take(c, second, 100), 80);
  EXPECT_EQ(c.shared, 5);
  EXPECT_EQ(cache.held(), 5);
  EXPECT_EQ(cache.take_moves().loaded[0], 5);
  cache.release(c, second, 80);
  EXPECT_EQ(cache.available(), 10);
  cache.clear();
  EXPECT_EQ(cache.cached(second, 100), 0);
}

std::vector<Request> sharing(Count count, Count prefixes) {
  Random random(11);
  std::vector<Request> requests;
  for (Count i = 0; i < count; ++i)
    requests.push_back({seconds(0.01 * static_cast<double>(i)), 180 + static_cast<Count>(random.below(60)),
                        1 + static_cast<Count>(random.below(5)),
                        static_cast<Count>(random.below(static_cast<std::uint64_t>(prefixes))), 160});
  return requests;
}

ServingOutcome served_with(const std::vector<Request>& requests, Count blocks, const KvOffload& offload,
                           Policy policy = Policy::vllm) {
  SimulationOptions o;
  o.pool = pool_of(policy, blocks);
  o.pool.offload = offload;
  const auto out = simulate(requests, o);
  EXPECT_TRUE(out);
  expect_conserved(requests, o, *out);
  return *out;
}

// A tier that costs nothing to load from is more memory, as far as prefixes go: the same tokens are found, and every
// request takes the same time.
TEST(ServeKvTiers, FreeIsMoreMemory) {
  const auto requests = sharing(500, 40);
  for (const Count more : {50, 150, 400}) {
    const ServingOutcome tiered = served_with(requests, 60, host_of(more)),
                         larger = served_with(requests, 60 + more, {});
    EXPECT_EQ(tally_of(tiered).hits, tally_of(larger).hits) << more;
    EXPECT_EQ(tiered.end, larger.end);
    for (std::size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(tiered.requests[i].last, larger.requests[i].last);
    EXPECT_GT(tiered.loaded[0], 0);
  }
}

// Split between host and disk it is the same again.
TEST(ServeKvTiers, TwoFreeTiersAreOne) {
  const auto requests = sharing(500, 40);
  KvOffload both = host_of(70);
  both.tiers[1] = {80, seconds(0), seconds(0)};
  const ServingOutcome two = served_with(requests, 60, both), one = served_with(requests, 60, host_of(150));
  EXPECT_EQ(tally_of(two).hits, tally_of(one).hits);
  EXPECT_EQ(two.end, one.end);
  EXPECT_GT(two.loaded[1], 0);
}

// One that is slower than computing is none.
TEST(ServeKvTiers, TooSlowIsNone) {
  const auto requests = sharing(300, 40);
  const ServingOutcome slow = served_with(requests, 60, host_of(400, seconds(1e9))),
                       none = served_with(requests, 60, {});
  EXPECT_EQ(slow.end, none.end);
  EXPECT_EQ(tally_of(slow).hits, tally_of(none).hits);
  EXPECT_EQ(slow.stored[0], 0);
}

// A slower link never makes a run shorter.
TEST(ServeKvTiers, BandwidthHelps) {
  const auto requests = sharing(300, 40);
  Seconds before;
  for (const double per_block : {0.0, 10e-6, 100e-6, 1e-3}) {
    KvOffload offload = host_of(400, seconds(per_block));
    offload.always = true;
    double latency = 0;
    for (const RequestRecord& r : served_with(requests, 60, offload).requests) latency += r.latency().base();
    EXPECT_GE(seconds(latency), before);
    before = seconds(latency);
  }
}

TEST(ServeKvTiers, EverySchedulerConserves) {
  Random random(31);
  for (const Policy policy : kPolicies) {
    SCOPED_TRACE(name_of(policy));
    auto requests = random_requests(random, 400, 250);
    KvOffload offload = host_of(40, microseconds(20));
    offload.tiers[1] = {100, microseconds(50), microseconds(100)};
    served_with(requests, 30, offload, policy);
    for (Request& r : requests) r.arrival = seconds(0);
    served_with(requests, 30, offload, policy);
  }
}

}  // namespace
}  // namespace tilecast
