#include "lab/train/boost.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tilecast {
namespace {

// y = 2 where x0 > 0.5, plus x1 in steps; x2 is noise that must not matter.
BoostData steps(std::size_t rows) {
  BoostData data;
  data.width = 3;
  std::uint64_t state = 7;
  const auto uniform = [&] {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<float>(state >> 40) / 16777216.0f;
  };
  for (std::size_t r = 0; r < rows; ++r) {
    const float x0 = uniform(), x1 = uniform(), x2 = uniform();
    data.features.insert(data.features.end(), {x0, x1, x2});
    data.targets.push_back((x0 > 0.5f ? 2.0f : 0.0f) + std::floor(x1 * 4));
  }
  return data;
}

TEST(Boost, LearnsSteps) {
  const BoostData data = steps(4000);
  BoostOptions options;
  options.trees = 150;
  options.depth = 4;
  const Forest forest = boost(data, options);
  double error = 0;
  for (std::size_t r = 0; r < data.rows(); ++r)
    error += std::abs(forest.predict(std::span(&data.features[r * 3], 3)) - data.targets[r]);
  EXPECT_LT(error / static_cast<double>(data.rows()), 0.08);
}

TEST(Boost, SameForestWhateverTheThreads) {
  const BoostData data = steps(3000);
  BoostOptions one, two;
  one.trees = two.trees = 20;
  one.threads = 1;
  two.threads = 2;
  const Forest a = boost(data, one), b = boost(data, two);
  ASSERT_EQ(a.trees().size(), b.trees().size());
  for (std::size_t t = 0; t < a.trees().size(); ++t) EXPECT_EQ(a.trees()[t].leaf, b.trees()[t].leaf);
}

TEST(Boost, QuantilesBracketTheShareTheyName) {
  BoostData data = steps(6000);
  std::uint64_t state = 11;
  for (float& target : data.targets) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    target += static_cast<float>(state >> 40) / 16777216.0f;  // noise uniform in [0, 1)
  }
  BoostOptions options;
  options.trees = 200;
  options.depth = 4;
  options.quantile = 0.9;
  const Forest forest = boost(data, options);
  int below = 0;
  for (std::size_t r = 0; r < data.rows(); ++r)
    below += data.targets[r] <= forest.predict(std::span(&data.features[r * 3], 3));
  EXPECT_NEAR(below / 6000.0, 0.9, 0.03);
}

TEST(Boost, NoRowsGiveAForestThatSaysZero) {
  BoostData data;
  data.width = 2;
  const float row[2] = {1, 2};
  EXPECT_EQ(boost(data, {}).predict(row), 0);
}

TEST(Forest, BatchEqualsSingleRows) {
  const BoostData data = steps(500);
  BoostOptions options;
  options.trees = 10;
  const Forest forest = boost(data, options);
  std::vector<float> out(data.rows());
  forest.predict(data.features, out);
  for (std::size_t r = 0; r < data.rows(); ++r) EXPECT_EQ(out[r], forest.predict(std::span(&data.features[r * 3], 3)));
}

}  // namespace
}  // namespace tilecast
