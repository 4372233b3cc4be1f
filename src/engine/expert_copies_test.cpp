#include "engine/expert_copies.h"

#include <gtest/gtest.h>

#include <numeric>

namespace tilecast {
namespace {

Count total_of(const std::vector<Count>& v) { return std::accumulate(v.begin(), v.end(), Count{0}); }

TEST(ExpertCopies, CopiesByHand) {
  // Two ranks of two: 10 + 4 against 5 + 5 (from the busiest down), 14 at most.
  EXPECT_EQ(busiest_with_copies({10, 5, 5, 4}, 0, 2), (std::vector<Count>{10, 4}));
  // Two copies of the first, one more of the second: 5 5 5 5 4 3+2 over two ranks of three.
  const auto busiest = busiest_with_copies({10, 5, 5, 4}, 2, 2);
  EXPECT_EQ(busiest.size(), 3u);
  EXPECT_EQ(total_of(busiest), 12);
  // One of each on every rank: nobody has more than his share, rounded up.
  EXPECT_EQ(total_of(busiest_with_copies({10, 5, 5, 4}, 4, 2)), 12);
}

TEST(ExpertCopies, MoreCopiesLessOnTheBusiest) {
  std::vector<Count> loads;
  for (Count i = 1; i <= 64; ++i) loads.push_back(100000 / (i * i));
  Count before = total_of(loads) + 1;
  for (Count copies = 0; copies <= 64; copies += 8) {
    const Count now = total_of(busiest_with_copies(loads, copies, 8));
    EXPECT_LE(now, before * 101 / 100) << copies;  // a greedy rule: not always the least
    EXPECT_GE(now * 8, total_of(loads));
    before = now;
  }
  EXPECT_LT(before * 8, total_of(loads) * 11 / 10);
}

// The busiest rank's rows fall, and no routing is lost on the way.
TEST(ExpertCopies, OfAKernel) {
  Moe shape;
  shape.tokens = 4096, shape.hidden = 2048, shape.inter = 768, shape.experts = 128, shape.topk = 8, shape.ep = 8;
  shape.distribution = ExpertDistribution::power_law;
  Count before = shape.tokens * shape.topk;
  for (const Count copies : {0, 32, 128}) {
    const auto moe = with_expert_copies(shape, copies, {});
    ASSERT_TRUE(moe);
    EXPECT_TRUE(moe->check()) << moe->check().error().line();
    EXPECT_EQ(moe->experts, 128 + copies);
    EXPECT_EQ(static_cast<Count>(moe->counts.size()), moe->local_experts());
    EXPECT_LE(total_of(moe->counts), before);
    EXPECT_GE(total_of(moe->counts) * 8, shape.tokens * shape.topk);
    before = total_of(moe->counts);
  }
  Routing measured{ExpertDistribution::given, 1.2, std::vector<double>(128, 1)};
  const auto even = with_expert_copies(shape, 32, measured);
  ASSERT_TRUE(even);
  EXPECT_LE(total_of(even->counts), 4096 * 11 / 10);
  measured.visits.pop_back();
  EXPECT_FALSE(with_expert_copies(shape, 32, measured));
}

}  // namespace
}  // namespace tilecast
