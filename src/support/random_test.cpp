#include "support/random.h"

#include <gtest/gtest.h>

namespace tilecast {
namespace {

TEST(Random, IsSplitMix64) {
  Random random(1234567);  // first values of the authors' own program
  EXPECT_EQ(random.next(), 6457827717110365317u);
  EXPECT_EQ(random.next(), 3203168211198807973u);
}

// The generator is the mix of a counter.
TEST(Random, MixedIsOneStepOfTheGenerator) {
  static_assert(mixed(1234567) == 6457827717110365317u);
  EXPECT_EQ(mixed(1234567 + kGoldenGamma), 3203168211198807973u);
  EXPECT_EQ(mixed(7, "ab"), mixed(mixed(7 ^ std::uint64_t{'a'}) ^ std::uint64_t{'b'}));
  EXPECT_EQ(mixed(7, ""), 7u);
}

TEST(Random, NumbersStayInTheirRanges) {
  Random random(3);
  for (int i = 0; i < 1000; ++i) {
    const double u = random.uniform();
    EXPECT_GT(u, 0);
    EXPECT_LT(u, 1);
    EXPECT_LT(random.below(5), 5u);
  }
}

}  // namespace
}  // namespace tilecast
