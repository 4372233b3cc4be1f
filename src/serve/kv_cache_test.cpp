#include "serve/kv_cache.h"

#include <gtest/gtest.h>

#include <map>

#include "support/random.h"

namespace tilecast {
namespace {

KvGeometry plain(Count block = 16) { return {block, {{100, 0}}, 0}; }

TEST(ServeKvCache, BlocksByHand) {
  EXPECT_EQ(plain().blocks_for(0), 0);
  EXPECT_EQ(plain().blocks_for(1), 1);
  EXPECT_EQ(plain().blocks_for(16), 1);
  EXPECT_EQ(plain().blocks_for(17), 2);
  EXPECT_DOUBLE_EQ(plain().block_bytes().base(), 1600);
  // Half of the bytes keep 32 tokens at most (and the rest of a block): 1600 tokens take 100 / 2 + 48 / 16 / 2 blocks.
  const KvGeometry windowed{16, {{50, 0}, {50, 32}}, 0};
  EXPECT_EQ(windowed.blocks_for(16), 1);
  EXPECT_EQ(windowed.blocks_for(1600), 52);  // 51.5
  const KvGeometry state{16, {{100, 0}}, 3200};
  EXPECT_EQ(state.blocks_for(16), 3);
}

TEST(ServeKvCache, GrowsAndRefuses) {
  KvCache cache(10, plain(), false);
  KvHolding a, b;
  EXPECT_TRUE(cache.grow(a, 100));  // 7 blocks
  EXPECT_EQ(a.blocks(), 7);
  EXPECT_EQ(cache.available(), 3);
  EXPECT_FALSE(cache.grow(b, 49));
  EXPECT_EQ(b.blocks(), 0);
  EXPECT_TRUE(cache.grow(b, 48));
  EXPECT_EQ(cache.available(), 0);
  EXPECT_TRUE(cache.grow(a, 112));  // still its seven
  cache.release(a, {1}, 100);
  cache.release(b, {2}, 48);
  EXPECT_EQ(cache.available(), 10);
}

TEST(ServeKvCache, FindsASharedPrefixAgain) {
  KvCache cache(100, plain(), true);
  const KvKey first{1, 7, 100}, second{2, 7, 100}, other{3, 8, 100};
  KvHolding a, b, c;
  EXPECT_EQ(cache.cached(first, 200), 0);
  EXPECT_TRUE(cache.grow(a, 200));
  cache.publish(a, first, 200);
  EXPECT_EQ(a.shared, 6);  // 96 of 100 tokens are whole blocks
  EXPECT_EQ(cache.cached(second, 200), 96);
  EXPECT_EQ(cache.cached(second, 96), 80);  // the last token is always computed
  EXPECT_EQ(cache.cached(other, 200), 0);
  const Count before = cache.available();
  EXPECT_EQ(cache.take(b, second, 200), 96);
  EXPECT_EQ(cache.available(), before);  // both hold the same blocks
  EXPECT_TRUE(cache.grow(b, 200));
  EXPECT_EQ(cache.available(), before - 7);
  cache.release(a, first, 200);
  cache.release(b, second, 200);
  EXPECT_EQ(cache.available(), 100);
  EXPECT_EQ(cache.idle(), 6 + 6 + 6);  // the prefix, and six whole blocks of each
  EXPECT_TRUE(cache.grow(c, 1600));    // everything is given up for it
  EXPECT_EQ(cache.cached(second, 200), 0);
}

TEST(ServeKvCache, LosesTheLeastRecentlyUsedFromItsEnd) {
  KvCache cache(20, plain(), true);
  KvHolding a, b, c;
  const KvKey first{1, 1, 80}, second{2, 2, 80};
  cache.grow(a, 80), cache.publish(a, first, 80), cache.release(a, first, 80);
  cache.grow(b, 80), cache.publish(b, second, 80), cache.release(b, second, 80);
  EXPECT_TRUE(cache.grow(c, 16 * 12));  // 10 free, two of the first's five
  EXPECT_EQ(cache.cached(first, 100), 48);
  EXPECT_EQ(cache.cached(second, 100), 80);
}

TEST(ServeKvCache, APreemptedRequestFindsItsOwn) {
  KvCache cache(20, plain(), true);
  KvHolding a;
  cache.grow(a, 100);
  cache.release(a, {5}, 90);
  EXPECT_EQ(cache.cached({5}, 101), 80);
  EXPECT_EQ(cache.take(a, {5}, 101), 80);
  EXPECT_EQ(cache.idle(), 0);
  EXPECT_EQ(cache.available(), 15);
}

// Half of the bytes see 32 tokens: of a prefix of 320 stay ten blocks' worth of keys and the last window.
TEST(ServeKvCache, AWindowedPrefixIsFoundAgain) {
  const KvGeometry windowed{16, {{50, 0}, {50, 32}}, 0};
  EXPECT_EQ(windowed.own_blocks_for(640, 0), windowed.blocks_for(640));
  EXPECT_EQ(windowed.own_blocks_for(640, 320), windowed.blocks_for(640) - 10);  // the window is past them
  EXPECT_EQ(windowed.own_blocks_for(336, 320), windowed.blocks_for(336) - 10);  // 16 tokens of it still are seen: 10.5
  KvCache cache(100, windowed, true);
  const KvKey first{1, 7, 320}, second{2, 7, 320};
  KvHolding a, b;
  EXPECT_TRUE(cache.grow(a, 640));
  cache.publish(a, first, 160);
  EXPECT_EQ(cache.cached(second, 640), 0);  // not to its end yet
  cache.publish(a, first, 640);
  EXPECT_EQ(cache.cached(second, 640), 320);
  EXPECT_EQ(cache.held(), windowed.blocks_for(640) - 10 + windowed.blocks_for(320));
  EXPECT_EQ(cache.take(b, second, 640), 320);
  EXPECT_TRUE(cache.grow(b, 640));
  EXPECT_EQ(b.own, windowed.blocks_for(640) - 10);
  cache.release(a, first, 640), cache.release(b, second, 640);
  EXPECT_EQ(cache.available(), 100);
  EXPECT_EQ(cache.idle(), windowed.blocks_for(320));
  KvHolding c;
  EXPECT_TRUE(cache.grow(c, 16 * 180));  // one block of the chain is asked for: all of it is lost
  EXPECT_EQ(cache.cached(second, 640), 0);
}

TEST(ServeKvCache, APrefixKeepsItsState) {
  const KvGeometry hybrid{16, {{100, 0}}, 3200};  // two blocks' worth a sequence
  KvCache cache(50, hybrid, true);
  const KvKey first{1, 7, 160}, second{2, 7, 160};
  KvHolding a, b;
  EXPECT_TRUE(cache.grow(a, 320));
  cache.publish(a, first, 320);
  EXPECT_EQ(cache.held(), 22 + 2);
  EXPECT_EQ(cache.take(b, second, 320), 160);
  EXPECT_TRUE(cache.grow(b, 320));
  EXPECT_EQ(b.own, 12);
  cache.release(a, first, 320), cache.release(b, second, 320);
  EXPECT_EQ(cache.available(), 50);
}

// Random use keeps the books: nothing is lost, nothing is there twice.
TEST(ServeKvCache, NeverLeaksWithWindows) {
  KvCache cache(60, {4, {{50, 0}, {30, 8}}, 40}, true);
  Random random(5);
  std::vector<std::pair<KvKey, KvHolding>> users;
  for (Count i = 0; i < 20000; ++i) {
    if (random.uniform() < 0.5) {
      const KvKey key{i, static_cast<Count>(random.below(4)), 4 + static_cast<Count>(random.below(36))};
      const Count wanted = 40 + static_cast<Count>(random.below(20));
      const Count there = cache.cached(key, wanted);
      const Count need = cache.geometry().own_blocks_for(wanted, there) + cache.cached_idle_blocks(key, wanted);
      if (need > cache.available()) continue;
      KvHolding holding;
      cache.take(holding, key, wanted);
      ASSERT_TRUE(cache.grow(holding, wanted));
      cache.publish(holding, key, wanted);
      users.emplace_back(key, holding);
    } else if (!users.empty()) {
      std::swap(users[random.below(users.size())], users.back());
      cache.release(users.back().second, users.back().first, 40);
      users.pop_back();
    }
    ASSERT_GE(cache.available(), 0);
    ASSERT_GE(cache.idle(), 0);
    ASSERT_LE(cache.idle(), cache.available());
  }
  for (auto& [key, holding] : users) cache.release(holding, key, 40);
  EXPECT_EQ(cache.available(), 60);
}

TEST(ServeKvCache, NeverLeaks) {
  for (const bool reuse : {false, true}) {
    KvCache cache(60, plain(4), reuse);
    Random random(3);
    struct User {
      KvKey key;
      KvHolding holding;
      Count tokens = 0;
    };
    std::vector<User> users;
    for (Count i = 0; i < 20000; ++i) {
      if (random.uniform() < 0.4) {
        User user{{i, static_cast<Count>(random.below(4)), static_cast<Count>(random.below(40))}, {}, 0};
        const Count wanted = 40 + static_cast<Count>(random.below(20));
        if (cache.lacking({}, wanted) > cache.available()) continue;
        user.tokens = cache.take(user.holding, user.key, wanted);
        users.push_back(user);
      } else if (!users.empty()) {
        User& user = users[random.below(users.size())];
        if (random.uniform() < 0.7) {
          const Count more = user.tokens + 1 + static_cast<Count>(random.below(9));
          if (cache.grow(user.holding, more)) {
            user.tokens = more;
            cache.publish(user.holding, user.key, more);
          }
        } else {
          cache.release(user.holding, user.key, user.tokens);
          std::swap(user, users.back());
          users.pop_back();
        }
      }
      // Held blocks: each user's own, and each shared chain once (at least the longest use of it).
      Count own = 0;
      std::map<Count, Count> shared;
      for (const User& u : users) {
        own += u.holding.own;
        shared[u.key.prefix] = std::max(shared[u.key.prefix], u.holding.shared);
        ASSERT_GE(u.holding.blocks() * 4, u.tokens);
      }
      for (const auto& [prefix, blocks] : shared) own += blocks;
      ASSERT_GE(cache.held(), own);
      ASSERT_LE(cache.held(), 60);
      ASSERT_GE(cache.idle(), 0);
    }
    for (User& u : users) cache.release(u.holding, u.key, u.tokens);
    EXPECT_EQ(cache.available(), 60);
  }
}

}  // namespace
}  // namespace tilecast
