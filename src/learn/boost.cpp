#include "learn/boost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <thread>

namespace tilecast {
namespace {

constexpr std::size_t kShards = 8;  // fixed, so that sums do not depend on the number of threads

// SplitMix64: small, seedable, the same on every platform.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

// Runs work(shard) for every shard on a few threads.
template <class Work>
void for_shards(int threads, Work&& work) {
  std::vector<std::jthread> pool;
  const std::size_t count = std::clamp<std::size_t>(static_cast<std::size_t>(std::max(1, threads)), 1, kShards);
  for (std::size_t t = 1; t < count; ++t)
    pool.emplace_back([&work, t, count] {
      for (std::size_t s = t; s < kShards; s += count) work(s);
    });
  for (std::size_t s = 0; s < kShards; s += count) work(s);
}

// Value below which `share` of the weight lies.
float weighted_quantile(std::vector<std::pair<float, float>>& items, double share) {
  if (items.empty()) return 0;
  std::sort(items.begin(), items.end());
  double total = 0;
  for (const auto& [value, weight] : items) total += weight;
  double below = 0;
  for (const auto& [value, weight] : items) {
    below += weight;
    if (below >= share * total) return value;
  }
  return items.back().first;
}

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
    // Values that few rows have still deserve a border of their own when there are only a few distinct ones.
    std::vector<float> distinct = column;
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    if (distinct.size() <= static_cast<std::size_t>(Forest::kMostBins)) {
      borders[f].clear();
      for (std::size_t i = 1; i < distinct.size(); ++i) borders[f].push_back((distinct[i - 1] + distinct[i]) / 2);
    }
  }
  return borders;
}

struct Cell {
  double gradient = 0, weight = 0;
};

class Booster {
 public:
  Booster(const BoostData& data, const BoostOptions& options)
      : data_(data), options_(options), rows_(data.rows()), borders_(find_borders(data)) {
    const Forest binner(borders_, 0, {});
    bins_.resize(data.width * rows_);
    for_shards(options_.threads, [&](std::size_t shard) {
      for (std::size_t r = first(shard); r < first(shard + 1); ++r)
        for (std::size_t f = 0; f < data_.width; ++f)
          bins_[f * rows_ + r] = binner.bin(f, data_.features[r * data_.width + f]);
    });
    std::vector<std::pair<float, float>> targets(rows_);
    for (std::size_t r = 0; r < rows_; ++r) targets[r] = {data_.targets[r], weight(r)};
    base_ = weighted_quantile(targets, options_.quantile);
    predicted_.assign(rows_, base_);
    gradient_.resize(rows_);
    leaf_.resize(rows_);
    chosen_.resize(rows_);
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
  std::size_t first(std::size_t shard) const { return rows_ * shard / kShards; }
  float weight(std::size_t r) const { return data_.weights.empty() ? 1.0f : data_.weights[r]; }

  Forest::Tree grow(int number) {
    const std::uint64_t seed = mixed(options_.seed * 1000003ull + static_cast<std::uint64_t>(number));
    const auto limit = static_cast<std::uint64_t>(options_.row_share * 18446744073709549568.0);
    for_shards(options_.threads, [&](std::size_t shard) {
      for (std::size_t r = first(shard); r < first(shard + 1); ++r) {
        const float left = data_.targets[r] - predicted_[r];
        gradient_[r] = static_cast<float>(left > 0   ? options_.quantile
                                          : left < 0 ? options_.quantile - 1
                                                     : 0) *
                       weight(r);
        leaf_[r] = 0;
        chosen_[r] = options_.row_share >= 1 || mixed(seed ^ (r * 0x9E3779B97F4A7C15ull)) < limit;
      }
    });
    Forest::Tree tree;
    for (int level = 0; level < options_.depth; ++level)
      if (!add_level(tree)) break;
    set_leaves(tree);
    return tree;
  }

  // Finds the question that separates the gradients of all leaves best, and asks it.
  bool add_level(Forest::Tree& tree) {
    const std::size_t leaves = std::size_t{1} << tree.depth;
    const std::size_t cells = data_.width * leaves * Forest::kMostBins;
    std::vector<std::vector<Cell>> shard_cells(kShards);
    for_shards(options_.threads, [&](std::size_t shard) {
      std::vector<Cell>& sums = shard_cells[shard];
      sums.assign(cells, {});
      for (std::size_t f = 0; f < data_.width; ++f) {
        Cell* const base = &sums[f * leaves * Forest::kMostBins];
        const std::uint8_t* const column = &bins_[f * rows_];
        for (std::size_t r = first(shard); r < first(shard + 1); ++r) {
          if (!chosen_[r]) continue;
          Cell& cell = base[leaf_[r] * std::size_t{Forest::kMostBins} + column[r]];
          cell.gradient += gradient_[r];
          cell.weight += weight(r);
        }
      }
    });
    for (std::size_t shard = 1; shard < kShards; ++shard)
      for (std::size_t c = 0; c < cells; ++c) {
        shard_cells[0][c].gradient += shard_cells[shard][c].gradient;
        shard_cells[0][c].weight += shard_cells[shard][c].weight;
      }
    double best = -1;
    std::size_t best_feature = 0, best_threshold = 0;
    for (std::size_t f = 0; f < data_.width; ++f) {
      std::array<double, Forest::kMostBins> gains{};
      for (std::size_t leaf = 0; leaf < leaves; ++leaf)
        add_gains(gains, &shard_cells[0][(f * leaves + leaf) * Forest::kMostBins], borders_[f].size());
      for (std::size_t b = 0; b < borders_[f].size(); ++b)
        if (gains[b] > best) best = gains[b], best_feature = f, best_threshold = b;
    }
    if (best <= 0) return false;
    tree.feature[tree.depth] = static_cast<std::uint8_t>(best_feature);
    tree.threshold[tree.depth] = static_cast<std::uint8_t>(best_threshold);
    const auto bit = static_cast<std::uint8_t>(1u << tree.depth);
    ++tree.depth;
    const std::uint8_t* const column = &bins_[best_feature * rows_];
    for (std::size_t r = 0; r < rows_; ++r)
      if (column[r] > best_threshold) leaf_[r] = static_cast<std::uint8_t>(leaf_[r] | bit);
    return true;
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
    for_shards(options_.threads, [&](std::size_t shard) {
      for (std::size_t leaf = shard; leaf < leaves; leaf += kShards) {
        double total = 0;
        for (const auto& [lack, w] : lacks[leaf]) total += w;
        const double trust = total / (total + options_.least_leaf);
        tree.leaf[leaf] = static_cast<float>(options_.rate * trust * weighted_quantile(lacks[leaf], options_.quantile));
      }
    });
    for (std::size_t r = 0; r < rows_; ++r) predicted_[r] += tree.leaf[leaf_[r]];
  }

  const BoostData& data_;
  const BoostOptions& options_;
  std::size_t rows_;
  std::vector<std::vector<float>> borders_;
  std::vector<std::uint8_t> bins_;  // column-major
  float base_ = 0;
  std::vector<float> predicted_, gradient_;
  std::vector<std::uint8_t> leaf_;
  std::vector<char> chosen_;
};

}  // namespace

Forest boost(const BoostData& data, const BoostOptions& options) {
  if (data.rows() == 0) return Forest(std::vector<std::vector<float>>(data.width), 0, {});
  return Booster(data, options).run();
}

}  // namespace tilecast
