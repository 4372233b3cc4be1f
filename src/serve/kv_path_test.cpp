// Beginnings that requests share as a tree has them.
#include <gtest/gtest.h>

#include "serve/kv_cache.h"
#include "serve/simulator_testing.h"
#include "serve/trace_blocks.h"
#include "support/random.h"

namespace tilecast {
namespace {

KvGeometry plain_geometry() { return {16, {{100, 0}}, 0}; }

// Three prompts of blocks a b c, a b d and a: the first two share a and b, all share a.
TEST(KvPath, SegmentsByHand) {
  BlockTree tree;
  std::vector<Request> requests(3, Request{seconds(0), 48, 1});
  requests[2].input = 10;
  const std::vector<std::int32_t> ends = {tree.add({1, 2, 3}), tree.add({1, 2, 4}), tree.add({1})};
  const SharedPaths paths = tree.paths(requests, ends, 16);
  const auto first = paths.of(requests[0].path), second = paths.of(requests[1].path),
             third = paths.of(requests[2].path);
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].tokens, 16);
  EXPECT_EQ(first[1].tokens, 32);
  ASSERT_EQ(second.size(), 2u);
  EXPECT_EQ(second[1].id, first[1].id);
  ASSERT_EQ(third.size(), 1u);
  EXPECT_EQ(third[0].id, first[0].id);
  EXPECT_EQ(third[0].tokens, 10);  // no more than the prompt has
}

TEST(KvPath, FindsWhatOthersComputed) {
  KvCache cache(20, plain_geometry(), true);
  const std::vector<PathSegment> abc = {{1, 32}, {2, 64}}, abd = {{1, 32}, {3, 80}};
  const KvKey first{0, -1, 0, abc}, second{1, -1, 0, abd};
  KvHolding one, two;
  EXPECT_EQ(cache.take(one, first, 70), 0);
  ASSERT_TRUE(cache.grow(one, 70));
  cache.publish(one, first, 70);
  EXPECT_EQ(one.shared, 4);
  EXPECT_EQ(one.own, 1);
  EXPECT_EQ(cache.cached(second, 90), 32);
  EXPECT_EQ(cache.take(two, second, 90), 32);
  ASSERT_TRUE(cache.grow(two, 90));
  cache.publish(two, second, 90);
  EXPECT_EQ(two.shared, 5);
  EXPECT_EQ(cache.held(), 5 + 4);
  cache.release(one, first, 70);
  EXPECT_EQ(cache.held(), 6);  // the common segment is the second's too
  EXPECT_EQ(cache.cached(first, 70), 64);
  cache.release(two, second, 90);
  EXPECT_EQ(cache.held(), 0);
}

// Random paths of a tree through a small cache: blocks are neither lost nor made.
TEST(KvPath, ServesTreesUnderPressure) {
  Random random(5);
  for (const Policy policy : kPolicies)
    for (const Count blocks : {40, 90, 1000}) {
      SCOPED_TRACE(testing::Message() << name_of(policy) << " " << blocks);
      BlockTree tree;
      auto requests = random_requests(random, 200, 1);
      std::vector<std::int32_t> ends;
      for (Request& r : requests) {
        r.prefix = -1, r.prefix_tokens = 0;
        std::vector<std::int64_t> path;
        for (std::size_t k = 0; k < 1 + random.below(8); ++k)
          path.push_back(static_cast<std::int64_t>(100 * k + random.below(k < 3 ? 2 : 4)));
        r.input = static_cast<Count>(path.size()) * 32 - static_cast<Count>(random.below(20));
        ends.push_back(tree.add(path));
      }
      const SharedPaths paths = tree.paths(requests, ends, 32);
      SimulationOptions o;
      o.pool = pool_of(policy, blocks);
      o.paths = &paths;
      if (blocks == 90) o.total_timeout = milliseconds(100);
      const auto out = simulate(requests, o);
      ASSERT_TRUE(out) << out.error().line();
      EXPECT_EQ(out->blocks_left, 0);
      EXPECT_LE(out->most_blocks, o.pool.blocks);
      if (blocks != 90) expect_conserved(requests, o, *out);
      Count hits = 0;
      for (const RequestRecord& r : out->requests) hits += r.hits;
      if (blocks == 1000 && policy != Policy::static_batch) {
        EXPECT_GT(hits, 5000);
      }
    }
}

// Trees through tiers below the cache: what is free to load is found as if it had never left, and nothing is lost.
TEST(KvPath, FreeTiersAreMoreMemory) {
  Random random(17);
  BlockTree tree;
  std::vector<Request> requests;
  std::vector<std::int32_t> ends;
  for (int i = 0; i < 300; ++i) {
    std::vector<std::int64_t> path;
    for (std::size_t k = 0; k < 2 + random.below(5); ++k)
      path.push_back(static_cast<std::int64_t>(100 * k + random.below(k < 2 ? 4 : 3)));
    // One after the other, so that the order of their use is the same whatever the cache's size.
    requests.push_back({seconds(i), static_cast<Count>(path.size()) * 32 + 5, 2});
    ends.push_back(tree.add(path));
  }
  const SharedPaths paths = tree.paths(requests, ends, 32);
  const auto hits_with = [&](Count blocks, Count host, Count disk) {
    SimulationOptions o;
    o.pool = pool_of(Policy::vllm, blocks);
    o.paths = &paths;
    o.pool.offload.tiers = {KvTier{host, seconds(0), seconds(0)}, KvTier{disk, seconds(0), seconds(0)}};
    o.pool.offload.compute_block = seconds(1);
    const auto out = simulate(requests, o);
    EXPECT_TRUE(out);
    expect_conserved(requests, o, *out);
    Count hits = 0;
    for (const RequestRecord& r : out->requests) hits += r.hits;
    EXPECT_EQ(out->loaded[0] + out->loaded[1] > 0, host + disk > 0);
    return hits;
  };
  const Count none = hits_with(24, 0, 0), all = hits_with(5000, 0, 0);
  EXPECT_LT(none, all);
  EXPECT_EQ(hits_with(24, 5000, 0), all);
  EXPECT_EQ(hits_with(24, 20, 5000), all);
}

}  // namespace
}  // namespace tilecast
