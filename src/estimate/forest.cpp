#include "estimate/forest.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace tilecast {
namespace {

constexpr std::size_t kMostFeatures = 64;
constexpr std::size_t kBlock = 64;  // rows binned and walked together: bins of a block stay in L1

}  // namespace

std::uint8_t Forest::bin(std::size_t feature, float value) const {
  const std::vector<float>& borders = borders_[feature];
  std::uint8_t at = 0;
  for (const float border : borders) at = static_cast<std::uint8_t>(at + (value > border ? 1 : 0));
  return at;
}

float Forest::predict(std::span<const float> row) const {
  float out = 0;
  predict(row, std::span<float>(&out, 1));
  return out;
}

void Forest::predict(std::span<const float> rows, std::span<float> out) const {
  const std::size_t width = features();
  assert(width <= kMostFeatures && rows.size() == out.size() * width);
  std::array<std::array<std::uint8_t, kBlock>, kMostFeatures> bins;
  for (std::size_t start = 0; start < out.size(); start += kBlock) {
    const std::size_t n = std::min(kBlock, out.size() - start);
    for (std::size_t f = 0; f < width; ++f)
      for (std::size_t r = 0; r < n; ++r) bins[f][r] = bin(f, rows[(start + r) * width + f]);
    std::array<float, kBlock> sums;
    sums.fill(base_);
    for (const Tree& tree : trees_) {
      std::array<std::uint8_t, kBlock> index{};
      for (int level = 0; level < tree.depth; ++level) {
        const auto& column = bins[tree.feature[level]];
        const std::uint8_t threshold = tree.threshold[level];
        const auto bit = static_cast<std::uint8_t>(1u << level);
        for (std::size_t r = 0; r < n; ++r)
          index[r] = static_cast<std::uint8_t>(index[r] | (column[r] > threshold ? bit : 0));
      }
      for (std::size_t r = 0; r < n; ++r) sums[r] += tree.leaf[index[r]];
    }
    std::copy_n(sums.begin(), n, out.begin() + static_cast<std::ptrdiff_t>(start));
  }
}

}  // namespace tilecast
