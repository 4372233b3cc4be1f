#include "estimate/forest.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>

namespace tilecast {
namespace {

constexpr std::size_t kMostFeatures = 64;
// Rows processed together. A tree's leaves are fetched once for all of them, and their bins are still in L1.
constexpr std::size_t kBlock = 256;
constexpr std::size_t kBinned = 64;  // rows binned together, while their features lie in L1

// How many borders lie below a value, without a branch: halves the remaining range as often as needed.
std::uint8_t bin_among(std::span<const float> borders, float value) {
  const float* at = borders.data();
  std::size_t left = borders.size();
  for (; left > 1; left -= left / 2) {
    const std::size_t half = left / 2;
    at += half & (std::size_t{0} - static_cast<std::size_t>(value > at[half - 1]));
  }
  return static_cast<std::uint8_t>(at - borders.data() + (left == 1 && value > *at ? 1 : 0));
}

// Four numbers: the vector that every x86-64 and ARM has.
using Floats [[gnu::vector_size(16)]] = float;
using Ints [[gnu::vector_size(16)]] = std::int32_t;

// The same for many values of one feature, in two lookups that do not wait for each other's loads: among every eighth
// border, then among the eight from there on.
class Ladder {
 public:
  explicit Ladder(std::span<const float> borders) {
    assert(borders.size() <= Forest::kMostBins);
    float* const fine = reinterpret_cast<float*>(fine_.data());
    float* const coarse = reinterpret_cast<float*>(coarse_.data());
    std::fill_n(std::copy(borders.begin(), borders.end(), fine), 2 * kRung, kBeyond);
    for (std::size_t i = 0; i < kRungs; ++i)
      coarse[i] = (i + 1) * kRung <= borders.size() ? borders[(i + 1) * kRung - 1] : kBeyond;
  }
  std::uint8_t bin(float value) const {
    const Floats v = Floats{} + value;
    const Ints coarse = (coarse_[0] < v) + (coarse_[1] < v) + (coarse_[2] < v) + (coarse_[3] < v);
    const auto rung = static_cast<std::size_t>(-sum_of(coarse));
    const Floats* const fine = fine_.data() + rung * kRung / kWidth;
    return static_cast<std::uint8_t>(static_cast<int>(rung * kRung) - sum_of((fine[0] < v) + (fine[1] < v)));
  }

 private:
  static constexpr std::size_t kWidth = sizeof(Floats) / sizeof(float), kRung = 8, kRungs = Forest::kMostBins / kRung;
  static constexpr float kBeyond = std::numeric_limits<float>::infinity();  // below no value
  static int sum_of(Ints counts) {
    counts += __builtin_shufflevector(counts, counts, 2, 3, 0, 1);
    counts += __builtin_shufflevector(counts, counts, 1, 0, 3, 2);
    return counts[0];
  }

  std::array<Floats, kRungs / kWidth> coarse_;
  std::array<Floats, (Forest::kMostBins + 2 * kRung) / kWidth> fine_;
};

// Bins of one feature, `stride` apart in the rows.
void bin_column(std::span<const float> borders, const float* values, std::size_t stride, std::size_t rows,
                std::uint8_t* bins) {
  const Ladder ladder(borders);
  for (std::size_t r = 0; r < rows; ++r) bins[r] = ladder.bin(values[r * stride]);
}

}  // namespace

Forest Forest::first(std::size_t trees) const {
  return Forest(borders_, base_,
                {trees_.begin(), trees_.begin() + static_cast<std::ptrdiff_t>(std::min(trees, trees_.size()))});
}

std::uint8_t Forest::bin(std::size_t feature, float value) const { return bin_among(borders_[feature], value); }

namespace {

// Bins of sixteen rows: the vector that every x86-64 and ARM has. Signed, because that is what they compare; a bin is
// below 128.
using Bins [[gnu::vector_size(16)]] = std::int8_t;
constexpr std::size_t kVectors = kBlock / sizeof(Bins);
using Block = std::array<std::array<Bins, kVectors>, kMostFeatures>;

// The leaf of a tree that each row of a block ends in.
using Leaves = std::array<Bins, kVectors>;
void find_leaves(const Forest::Tree& tree, const Block& bins, std::size_t vectors, Leaves& leaves) {
  constexpr std::size_t kInRegisters = 4;
  static_assert(kVectors % kInRegisters == 0);
  for (std::size_t v = 0; v < vectors; v += kInRegisters) {
    Bins a{}, b{}, c{}, d{};
    for (int level = 0; level < tree.depth; ++level) {
      const Bins* const column = bins[tree.feature[level]].data() + v;
      const Bins threshold = Bins{} + static_cast<std::int8_t>(tree.threshold[level]);
      const auto own = static_cast<std::int8_t>(1u << level);
      const Bins bit = Bins{} + own;
      a |= (column[0] > threshold) & bit;  // all bits or none
      b |= (column[1] > threshold) & bit;
      c |= (column[2] > threshold) & bit;
      d |= (column[3] > threshold) & bit;
    }
    leaves[v] = a, leaves[v + 1] = b, leaves[v + 2] = c, leaves[v + 3] = d;
  }
}

// Trees whose leaves are added together: a sum is then loaded and stored once for all of them. The order of additions
// stays that of the trees, so the sums are the same to the bit.
constexpr std::size_t kTogether = 4;

// All trees over one block of binned rows. Rows beyond the requested ones are processed too: whole vectors, no
// remainder.
void walk(std::span<const Forest::Tree> trees, const Block& bins, std::size_t vectors, float* sums) {
  std::array<Leaves, kTogether> leaves;
  const std::size_t rows = vectors * sizeof(Bins);
  const auto at = [&](std::size_t tree) { return reinterpret_cast<const std::uint8_t*>(leaves[tree].data()); };
  std::size_t t = 0;
  for (; t + kTogether <= trees.size(); t += kTogether) {
    for (std::size_t i = 0; i < kTogether; ++i) find_leaves(trees[t + i], bins, vectors, leaves[i]);
    const float *const a = trees[t].leaf.data(), *const b = trees[t + 1].leaf.data();
    const float *const c = trees[t + 2].leaf.data(), *const d = trees[t + 3].leaf.data();
    const std::uint8_t *const at_a = at(0), *const at_b = at(1), *const at_c = at(2), *const at_d = at(3);
    for (std::size_t r = 0; r < rows; ++r) sums[r] = (((sums[r] + a[at_a[r]]) + b[at_b[r]]) + c[at_c[r]]) + d[at_d[r]];
  }
  for (; t < trees.size(); ++t) {
    find_leaves(trees[t], bins, vectors, leaves[0]);
    const float* const a = trees[t].leaf.data();
    const std::uint8_t* const at_a = at(0);
    for (std::size_t r = 0; r < rows; ++r) sums[r] += a[at_a[r]];
  }
}

}  // namespace

float Forest::predict(std::span<const float> row) const {
  assert(features() <= kMostFeatures && row.size() == features());
  std::array<std::uint8_t, kMostFeatures> bins{};
  for (std::size_t f = 0; f < features(); ++f)
    if (!borders_[f].empty()) bins[f] = bin_among(borders_[f], row[f]);
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
    for (std::size_t first = 0; first < n; first += kBinned)
      for (std::size_t f = 0; f < width; ++f) {
        if (borders_[f].empty()) continue;  // nothing asks; its bins stay zero
        auto* const column = reinterpret_cast<std::uint8_t*>(bins[f].data());
        const float* const values = &rows[(start + first) * width + f];
        bin_column(borders_[f], values, width, std::min(kBinned, n - first), column + first);
      }
    std::array<float, kBlock> sums;
    sums.fill(base_);
    walk(trees_, bins, (n + sizeof(Bins) - 1) / sizeof(Bins), sums.data());
    std::copy_n(sums.begin(), n, out.begin() + static_cast<std::ptrdiff_t>(start));
  }
}

}  // namespace tilecast
