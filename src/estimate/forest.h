// Boosted oblivious trees: every level of a tree asks one question of all rows, so a tree is `depth` comparisons and
// one look-up, without a branch. Small, fast and hard to overfit; they correct the analytic forecast.
//
// Features are first binned by per-feature borders; the trees compare bins. A forest is an immutable value;
// predicting is thread-safe and allocates nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tilecast {

class Forest {
 public:
  static constexpr int kMostDepth = 8;
  static constexpr int kMostBins = 128;
  static constexpr std::size_t kMostFeatures = 64;

  struct Tree {
    std::uint8_t depth = 0;
    std::uint8_t feature[kMostDepth] = {};
    std::uint8_t threshold[kMostDepth] = {};  // bit is set where bin > threshold
    std::vector<float> leaf;                  // 2^depth values
  };

  Forest() = default;
  Forest(std::vector<std::vector<float>> borders, float base, std::vector<Tree> trees)
      : borders_(std::move(borders)), base_(base), trees_(std::move(trees)) {}

  // The same value for every row.
  static Forest constant(std::size_t features, float value) {
    return Forest(std::vector<std::vector<float>>(features), value, {});
  }

  // The same without its later trees.
  Forest first(std::size_t trees) const;

  std::size_t features() const { return borders_.size(); }
  const std::vector<std::vector<float>>& borders() const { return borders_; }
  const std::vector<Tree>& trees() const { return trees_; }
  float base() const { return base_; }

  // Bin of a value: how many borders lie below it. NaN goes to bin 0.
  std::uint8_t bin(std::size_t feature, float value) const;

  // One row of features() values.
  float predict(std::span<const float> row) const;
  // `rows` rows, row-major; out has one value per row.
  void predict(std::span<const float> rows, std::span<float> out) const;

 private:
  std::vector<std::vector<float>> borders_;
  float base_ = 0;
  std::vector<Tree> trees_;
};

}  // namespace tilecast
