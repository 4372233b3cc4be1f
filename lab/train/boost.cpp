#include "lab/train/boost.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "support/random.h"
#include "support/statistics.h"
#include "support/workers.h"

namespace tilecast {
namespace {

// Borders between bins of about equal weight.
std::vector<std::vector<float>> find_borders(const BoostData& data) {
  constexpr std::size_t kMostSampled = 50000;
  const std::size_t stride = std::max<std::size_t>(1, data.rows() / kMostSampled);
  std::vector<std::vector<float>> borders(data.width);
  std::vector<float> column;
  for (std::size_t f = 0; f < data.width; ++f) {
    column.clear();
    for (std::size_t r = 0; r < data.rows(); r += stride) column.push_back(data.features[r * data.width + f]);
    std::sort(column.begin(), column.end());
    for (int b = 1; b < Forest::kMostBins; ++b) {
      const std::size_t at = column.size() * static_cast<std::size_t>(b) / Forest::kMostBins;
      if (at == 0 || at >= column.size()) continue;
      const float border = column[at - 1] + (column[at] - column[at - 1]) / 2;
      if (column[at] > column[at - 1] && (borders[f].empty() || border > borders[f].back()))
        borders[f].push_back(border);
    }
    // Even values that few rows have deserve a border of their own where there are only a few distinct ones.
    std::vector<float> distinct = column;
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    if (distinct.size() <= static_cast<std::size_t>(Forest::kMostBins)) {
      borders[f].clear();
      for (std::size_t i = 1; i < distinct.size(); ++i) borders[f].push_back((distinct[i - 1] + distinct[i]) / 2);
    }
  }
  return borders;
}

// Steps of a tree's leaves either way: this few pack into 3 bits per leaf, for 0.06 points of error on bf16 GEMM; the
// same bytes spent on exact leaves would be half as many trees and cost 0.2 points.
constexpr float kLeafSteps = 7;

struct Cell {
  float gradient = 0, weight = 0;
};

// The best question a feature has to ask.
struct Split {
  double gain = 0;
  std::size_t feature = 0, threshold = 0;
};

class Booster {
 public:
  Booster(const BoostData& data, const BoostOptions& options)
      : data_(data), options_(options), workers_(options.threads), rows_(data.rows()), borders_(find_borders(data)) {
    const Forest binner(borders_, 0, {});
    bins_.resize(data.width * rows_);
    workers_.each(data.width, [&](std::size_t f) {
      for (std::size_t r = 0; r < rows_; ++r) bins_[f * rows_ + r] = binner.bin(f, data_.features[r * data_.width + f]);
    });
    std::vector<std::pair<float, float>> targets(rows_);
    for (std::size_t r = 0; r < rows_; ++r) targets[r] = {data_.targets[r], weight(r)};
    base_ = targets.empty() ? 0 : weighted_quantile(targets, options_.quantile);
    predicted_.assign(rows_, base_);
    leaf_.resize(rows_);
  }

  Forest run() {
    std::vector<Forest::Tree> trees;
    for (int t = 0; t < options_.trees; ++t) {
      trees.push_back(grow(t));
      if (options_.progress) options_.progress(t + 1, options_.trees);
    }
    return Forest(std::move(borders_), base_, std::move(trees));
  }

 private:
  // A row that takes part in choosing a tree's questions.
  struct Chosen {
    std::uint32_t row;
    float gradient, weight;
    std::uint8_t leaf;
  };

  float weight(std::size_t r) const { return data_.weights.empty() ? 1.0f : data_.weights[r]; }

  // Which way, and how far up to a limit, the forecast of a row should move. The pinball loss alone would give the way
  // only; near the median the distance tells more, and questions chosen by it need fewer trees.
  float gradient(float left) const {
    if (options_.quantile != 0.5) {
      const double way = left > 0 ? options_.quantile : left < 0 ? options_.quantile - 1 : 0;
      return static_cast<float>(way);
    }
    return std::clamp(left, -reach_, reach_);
  }

  void choose_rows(std::uint64_t seed) {
    const auto limit = static_cast<std::uint64_t>(options_.row_share * 18446744073709549568.0);
    chosen_.clear();
    for (std::size_t r = 0; r < rows_; ++r)
      if (options_.row_share >= 1 || mixed(seed ^ (r * kGoldenGamma)) < limit)
        chosen_.push_back({static_cast<std::uint32_t>(r), 0, weight(r), 0});
    std::vector<float> sizes;
    for (const Chosen& c : chosen_) sizes.push_back(std::abs(data_.targets[c.row] - predicted_[c.row]));
    if (!sizes.empty()) reach_ = 2 * upper_median(std::move(sizes));
    for (Chosen& c : chosen_) c.gradient = gradient(data_.targets[c.row] - predicted_[c.row]) * c.weight;
  }

  Forest::Tree grow(int number) {
    const std::uint64_t seed = mixed(options_.seed * 1000003ull + static_cast<std::uint64_t>(number));
    choose_rows(seed);
    std::fill(leaf_.begin(), leaf_.end(), std::uint8_t{0});
    features_.clear();
    for (std::size_t f = 0; f < data_.width; ++f)
      if (!borders_[f].empty() &&
          static_cast<double>(mixed(seed + 17 * f + 1) >> 11) * 0x1p-53 < options_.feature_share)
        features_.push_back(f);
    Forest::Tree tree;
    for (int level = 0; level < options_.depth; ++level)
      if (!add_level(tree)) break;
    set_leaves(tree);
    return tree;
  }

  // Finds the question that separates the gradients of all leaves best, and asks it.
  bool add_level(Forest::Tree& tree) {
    std::vector<Split> splits(features_.size());
    workers_.each(features_.size(),
                  [&](std::size_t i) { splits[i] = best_split(features_[i], std::size_t{1} << tree.depth); });
    Split best;
    for (const Split& split : splits)
      if (split.gain > best.gain) best = split;
    if (best.gain <= 0) return false;
    tree.feature[tree.depth] = static_cast<std::uint8_t>(best.feature);
    tree.threshold[tree.depth] = static_cast<std::uint8_t>(best.threshold);
    const auto bit = static_cast<std::uint8_t>(1u << tree.depth);
    ++tree.depth;
    const std::uint8_t* const column = &bins_[best.feature * rows_];
    for (Chosen& c : chosen_)
      if (column[c.row] > best.threshold) c.leaf = static_cast<std::uint8_t>(c.leaf | bit);
    for (std::size_t r = 0; r < rows_; ++r)
      if (column[r] > best.threshold) leaf_[r] = static_cast<std::uint8_t>(leaf_[r] | bit);
    return true;
  }

  Split best_split(std::size_t feature, std::size_t leaves) const {
    std::vector<Cell> cells(leaves * Forest::kMostBins);
    const std::uint8_t* const column = &bins_[feature * rows_];
    for (const Chosen& c : chosen_) {
      Cell& cell = cells[std::size_t{c.leaf} * Forest::kMostBins + column[c.row]];
      cell.gradient += c.gradient;
      cell.weight += c.weight;
    }
    std::array<double, Forest::kMostBins> gains{};
    for (std::size_t leaf = 0; leaf < leaves; ++leaf)
      add_gains(gains, &cells[leaf * Forest::kMostBins], borders_[feature].size());
    Split best;
    for (std::size_t b = 0; b < borders_[feature].size(); ++b)
      if (gains[b] > best.gain) best = {gains[b], feature, b};
    return best;
  }

  void add_gains(std::array<double, Forest::kMostBins>& gains, const Cell* cells, std::size_t borders) const {
    Cell all;
    for (std::size_t b = 0; b <= borders; ++b) all.gradient += cells[b].gradient, all.weight += cells[b].weight;
    const auto score = [&](double g, double w) { return g * g / (w + options_.least_leaf); };
    const double before = score(all.gradient, all.weight);
    Cell left;
    for (std::size_t b = 0; b < borders; ++b) {
      left.gradient += cells[b].gradient;
      left.weight += cells[b].weight;
      gains[b] +=
          score(left.gradient, left.weight) + score(all.gradient - left.gradient, all.weight - left.weight) - before;
    }
  }

  // A leaf steps towards the quantile of what its rows still lack.
  void set_leaves(Forest::Tree& tree) {
    const std::size_t leaves = std::size_t{1} << tree.depth;
    std::vector<std::vector<std::pair<float, float>>> lacks(leaves);
    for (std::size_t r = 0; r < rows_; ++r) lacks[leaf_[r]].emplace_back(data_.targets[r] - predicted_[r], weight(r));
    tree.leaf.assign(leaves, 0);
    workers_.each(leaves, [&](std::size_t leaf) {
      if (lacks[leaf].empty()) return;
      double total = 0;
      for (const auto& [lack, w] : lacks[leaf]) total += w;
      const double trust = total / (total + options_.least_leaf);
      tree.leaf[leaf] = static_cast<float>(options_.rate * trust * weighted_quantile(lacks[leaf], options_.quantile));
    });
    // Rounded now rather than when stored, so that the trees that follow make up for it.
    float largest = 0;
    for (const float leaf : tree.leaf) largest = std::max(largest, std::abs(leaf));
    if (largest > 0)
      for (float& leaf : tree.leaf) leaf = std::round(leaf / largest * kLeafSteps) / kLeafSteps * largest;
    for (std::size_t r = 0; r < rows_; ++r) predicted_[r] += tree.leaf[leaf_[r]];
  }

  const BoostData& data_;
  const BoostOptions& options_;
  Workers workers_;  // each piece is one thread's, so that sums do not depend on their number
  std::size_t rows_;
  std::vector<std::vector<float>> borders_;
  std::vector<std::uint8_t> bins_;  // column-major
  float base_ = 0;
  std::vector<float> predicted_;
  float reach_ = 0;  // residuals beyond it count as much as this
  std::vector<std::uint8_t> leaf_;
  std::vector<Chosen> chosen_;
  std::vector<std::size_t> features_;  // that a tree may ask about
};

}  // namespace

Forest boost(const BoostData& data, const BoostOptions& options) {
  if (data.rows() == 0) return Forest::constant(data.width, 0);
  return Booster(data, options).run();
}

}  // namespace tilecast
