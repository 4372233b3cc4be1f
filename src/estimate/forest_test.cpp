#include "estimate/forest.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tilecast {
namespace {

constexpr std::size_t kFeatures = 5;

// Features of 0, 1, 2, 7 and 127 borders; trees of every depth, as many as leave some over after groups of four.
Forest some_forest() {
  std::vector<std::vector<float>> borders(kFeatures);
  const std::size_t counts[kFeatures] = {0, 1, 2, 7, 127};
  for (std::size_t f = 0; f < kFeatures; ++f)
    for (std::size_t i = 0; i < counts[f]; ++i) borders[f].push_back(static_cast<float>(i) * 0.5f - 3);
  std::vector<Forest::Tree> trees;
  for (int t = 0; t < 23; ++t) {
    Forest::Tree tree;
    tree.depth = static_cast<std::uint8_t>(t % (Forest::kMostDepth + 1));
    for (int level = 0; level < tree.depth; ++level) {
      tree.feature[level] = static_cast<std::uint8_t>(1 + (t + level) % 4);
      tree.threshold[level] = static_cast<std::uint8_t>((t * 7 + level * 3) % 60);
    }
    for (int leaf = 0; leaf < 1 << tree.depth; ++leaf)
      tree.leaf.push_back(std::sin(static_cast<float>(t * 300 + leaf)));
    trees.push_back(std::move(tree));
  }
  return Forest(std::move(borders), 0.25f, std::move(trees));
}

std::vector<float> some_rows(std::size_t count) {
  std::vector<float> rows(count * kFeatures);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = 40 * std::sin(static_cast<float>(i) * 0.7f);
  if (count > 3) rows[2 * kFeatures + 3] = std::numeric_limits<float>::quiet_NaN();
  return rows;
}

TEST(Forest, ABinCountsTheBordersBelow) {
  const Forest forest = some_forest();
  for (std::size_t f = 0; f < kFeatures; ++f)
    for (float value = -5; value < 70; value += 0.25f) {
      int below = 0;
      for (const float border : forest.borders()[f]) below += border < value ? 1 : 0;
      EXPECT_EQ(forest.bin(f, value), below) << f << " " << value;
    }
  EXPECT_EQ(forest.bin(4, std::numeric_limits<float>::quiet_NaN()), 0);
}

// Blocks, vectors and groups of trees leave remainders of every kind; the answers are those of single rows to the bit.
TEST(Forest, ManyRowsAreAsEachByItself) {
  const Forest forest = some_forest();
  for (const std::size_t count : {0, 1, 7, 15, 16, 17, 63, 64, 65, 200, 255, 256, 257, 700}) {
    const std::vector<float> rows = some_rows(count);
    std::vector<float> out(count);
    forest.predict(rows, out);
    for (std::size_t r = 0; r < count; ++r)
      EXPECT_EQ(out[r], forest.predict(std::span(rows).subspan(r * kFeatures, kFeatures))) << r << " of " << count;
  }
}

TEST(Forest, WithoutTreesItIsItsBase) {
  std::vector<float> out(3);
  Forest::constant(kFeatures, 0.5f).predict(some_rows(3), out);
  EXPECT_EQ(out, std::vector<float>(3, 0.5f));
}

}  // namespace
}  // namespace tilecast
