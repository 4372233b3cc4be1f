#include "estimate/forest.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "support/simd.h"

namespace tilecast {
namespace {

constexpr std::size_t kMostFeatures = 64;
constexpr std::size_t kBlock = 64;  // rows binned and walked together: bins of a block stay in L1

}  // namespace

std::uint8_t Forest::bin(std::size_t feature, float value) const {
  const std::vector<float>& borders = borders_[feature];
  // Without a branch: steps of halving size over at most 63 borders.
  std::size_t at = 0;
  for (std::size_t step = kMostBins / 2; step > 0; step /= 2)
    if (at + step <= borders.size() && value > borders[at + step - 1]) at += step;
  return static_cast<std::uint8_t>(at);
}

namespace {

using Block = std::array<std::array<std::uint8_t, kBlock>, kMostFeatures>;

// All trees over one block of binned rows. Rows beyond those asked for are worked on too: whole vectors, no remainder.
TILECAST_ALWAYS_INLINE void walk(const std::vector<Forest::Tree>& trees, const Block& bins,
                                 std::array<float, kBlock>& sums) {
  for (const Forest::Tree& tree : trees) {
    std::array<std::uint8_t, kBlock> index{};
    for (int level = 0; level < tree.depth; ++level) {
      const auto& column = bins[tree.feature[level]];
      const std::uint8_t threshold = tree.threshold[level];
      const auto bit = static_cast<std::uint8_t>(1u << level);
      for (std::size_t r = 0; r < kBlock; ++r)
        index[r] = static_cast<std::uint8_t>(index[r] | (column[r] > threshold ? bit : 0));
    }
    const float* const leaf = tree.leaf.data();
    for (std::size_t r = 0; r < kBlock; ++r) sums[r] += leaf[index[r]];
  }
}

TILECAST_AVX2 void walk_avx2(const std::vector<Forest::Tree>& trees, const Block& bins,
                             std::array<float, kBlock>& sums) {
  walk(trees, bins, sums);
}
void walk_base(const std::vector<Forest::Tree>& trees, const Block& bins, std::array<float, kBlock>& sums) {
  walk(trees, bins, sums);
}

}  // namespace

float Forest::predict(std::span<const float> row) const {
  assert(features() <= kMostFeatures && row.size() == features());
  std::array<std::uint8_t, kMostFeatures> bins;
  for (std::size_t f = 0; f < features(); ++f) bins[f] = bin(f, row[f]);
  float sum = base_;
  for (const Tree& tree : trees_) {
    unsigned index = 0;
    for (unsigned level = 0; level < tree.depth; ++level)
      index |= (bins[tree.feature[level]] > tree.threshold[level] ? 1u : 0u) << level;
    sum += tree.leaf[index];
  }
  return sum;
}

void Forest::predict(std::span<const float> rows, std::span<float> out) const {
  const std::size_t width = features();
  assert(width <= kMostFeatures && rows.size() == out.size() * width);
  const auto walked = simd_level() == Simd::base ? walk_base : walk_avx2;
  Block bins{};
  for (std::size_t start = 0; start < out.size(); start += kBlock) {
    const std::size_t n = std::min(kBlock, out.size() - start);
    for (std::size_t f = 0; f < width; ++f)
      for (std::size_t r = 0; r < n; ++r) bins[f][r] = bin(f, rows[(start + r) * width + f]);
    std::array<float, kBlock> sums;
    sums.fill(base_);
    walked(trees_, bins, sums);
    std::copy_n(sums.begin(), n, out.begin() + static_cast<std::ptrdiff_t>(start));
  }
}

}  // namespace tilecast
