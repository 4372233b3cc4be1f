#include "estimate/forest.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>

namespace tilecast {
namespace {

constexpr std::size_t kMostFeatures = 64;
constexpr std::size_t kBlock = 64;  // rows binned and walked together: bins of a block stay in L1

}  // namespace

Forest Forest::first(std::size_t trees) const {
  return Forest(borders_, base_,
                {trees_.begin(), trees_.begin() + static_cast<std::ptrdiff_t>(std::min(trees, trees_.size()))});
}

std::uint8_t Forest::bin(std::size_t feature, float value) const {
  const std::vector<float>& borders = borders_[feature];
  // Without a branch: steps of halving size, no more than the borders need.
  std::size_t at = 0;
  for (std::size_t step = std::bit_floor(borders.size()); step > 0; step /= 2)
    if (at + step <= borders.size() && value > borders[at + step - 1]) at += step;
  return static_cast<std::uint8_t>(at);
}

namespace {

// Bins of sixteen rows: the vector that every x86-64 and ARM has. Signed, because that is what they compare; a bin is
// below 128.
using Bins [[gnu::vector_size(16)]] = std::int8_t;
constexpr std::size_t kVectors = kBlock / sizeof(Bins);
using Block = std::array<std::array<Bins, kVectors>, kMostFeatures>;

// All trees over one block of binned rows. Rows beyond those asked for are worked on too: whole vectors, no remainder.
void walk(const std::vector<Forest::Tree>& trees, const Block& bins, std::array<float, kBlock>& sums) {
  for (const Forest::Tree& tree : trees) {
    std::array<Bins, kVectors> index{};
    for (int level = 0; level < tree.depth; ++level) {
      const auto& column = bins[tree.feature[level]];
      const auto threshold = static_cast<std::int8_t>(tree.threshold[level]);
      const auto bit = static_cast<std::int8_t>(1u << level);
      for (std::size_t v = 0; v < kVectors; ++v) index[v] |= (column[v] > threshold) & bit;  // all bits or none
    }
    const float* const leaf = tree.leaf.data();
    const auto* const at = reinterpret_cast<const std::uint8_t*>(index.data());
    for (std::size_t r = 0; r < kBlock; ++r) sums[r] += leaf[at[r]];
  }
}

}  // namespace

float Forest::predict(std::span<const float> row) const {
  assert(features() <= kMostFeatures && row.size() == features());
  std::array<std::uint8_t, kMostFeatures> bins{};
  for (std::size_t f = 0; f < features(); ++f)
    if (!borders_[f].empty()) bins[f] = bin(f, row[f]);
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
  Block bins{};
  for (std::size_t start = 0; start < out.size(); start += kBlock) {
    const std::size_t n = std::min(kBlock, out.size() - start);
    for (std::size_t f = 0; f < width; ++f) {
      if (borders_[f].empty()) continue;  // nothing asks; its bins stay zero
      for (std::size_t r = 0; r < n; ++r)
        reinterpret_cast<std::uint8_t*>(bins[f].data())[r] = bin(f, rows[(start + r) * width + f]);
    }
    std::array<float, kBlock> sums;
    sums.fill(base_);
    walk(trees_, bins, sums);
    std::copy_n(sums.begin(), n, out.begin() + static_cast<std::ptrdiff_t>(start));
  }
}

}  // namespace tilecast
