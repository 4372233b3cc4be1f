#include "support/statistics.h"

#include <gtest/gtest.h>

namespace tilecast {
namespace {

TEST(Statistics, MedianIsBetweenTheTwoInTheMiddle) {
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({9, 1, 4}), 4);
  EXPECT_EQ(median({8, 1, 2, 4}), 3);
}

TEST(Statistics, UpperMedianIsOneOfTheList) {
  EXPECT_EQ(upper_median(std::vector<double>{8, 1, 2, 4}), 4);
  EXPECT_EQ(upper_median(std::vector<float>{9, 1, 4}), 4);
}

TEST(Statistics, ValueOfRankCountsFromTheSmallest) {
  const std::vector<double> values = {50, 10, 40, 20, 30};
  EXPECT_EQ(value_of_rank(values, 0), 10);
  EXPECT_EQ(value_of_rank(values, 3), 40);
}

// numpy.quantile([10, 20, 40, 80], share).
TEST(Statistics, QuantilesAreLinearBetweenNeighbours) {
  const std::vector<double> sorted = {10, 20, 40, 80};
  for (const auto& [share, value] : {std::pair(0.0, 10.0), {0.25, 17.5}, {0.5, 30.0}, {0.9, 68.0}, {1.0, 80.0}}) {
    std::vector<double> mixed_up = {40, 80, 10, 20};
    EXPECT_DOUBLE_EQ(quantile(mixed_up, share), value) << share;
    EXPECT_DOUBLE_EQ(sorted_quantile(sorted, share), value) << share;
  }
  std::vector<float> one = {7};
  EXPECT_EQ(quantile(one, 0.99), 7);
}

TEST(Statistics, WeightedQuantileStopsWhereTheWeightIsReached) {
  std::vector<std::pair<float, float>> items = {{3, 1}, {1, 1}, {2, 6}};  // weights below: 1 to 1/8, 2 to 7/8
  EXPECT_EQ(weighted_quantile(items, 0.1), 1);
  EXPECT_EQ(weighted_quantile(items, 0.5), 2);
  EXPECT_EQ(weighted_quantile(items, 0.875), 2);
  EXPECT_EQ(weighted_quantile(items, 0.9), 3);
}

TEST(Statistics, EqualWeightsTakeTheQuickWayToTheSameValue) {
  std::vector<std::pair<float, float>> equal = {{4, 2}, {1, 2}, {3, 2}, {2, 2}};
  EXPECT_EQ(weighted_quantile(equal, 0.0), 1);
  EXPECT_EQ(weighted_quantile(equal, 0.5), 2);
  EXPECT_EQ(weighted_quantile(equal, 0.51), 3);
  EXPECT_EQ(weighted_quantile(equal, 1.0), 4);
}

}  // namespace
}  // namespace tilecast
