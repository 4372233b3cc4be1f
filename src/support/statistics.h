// Medians and quantiles of lists of numbers. None of the lists may be empty.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace tilecast {

// The value preceded by `rank` others when the list is sorted.
template <class T>
T value_of_rank(std::vector<T> values, std::size_t rank) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// A value of the list itself: for an even number, the upper of the two in the middle.
template <class T>
T upper_median(std::vector<T> values) {
  const std::size_t middle = values.size() / 2;
  return value_of_rank(std::move(values), middle);
}

// Linear between the neighbours of rank share x (n - 1), as numpy.quantile has it. Reorders the list. Where a lower
// quantile was taken of it before, its share (`lower`) spares the values below that one.
template <class T>
double quantile(std::vector<T>& values, double share, double lower = 0) {
  const auto last = static_cast<double>(values.size() - 1);
  const double rank = share * last;
  const auto low = static_cast<std::size_t>(rank), from = static_cast<std::size_t>(lower * last);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(low);
  std::nth_element(values.begin() + static_cast<std::ptrdiff_t>(from), at, values.end());
  const double below = *at;
  if (low + 1 >= values.size()) return below;
  const double above = *std::min_element(at + 1, values.end());
  return below + (above - below) * (rank - static_cast<double>(low));
}

// The same for a list that is already sorted.
inline double sorted_quantile(const std::vector<double>& sorted, double share) {
  const double rank = share * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(rank);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (rank - static_cast<double>(low));
}

// For an even number, the mean of the two in the middle.
inline double median(std::vector<double> values) { return quantile(values, 0.5); }

// The value below which `share` of the weight lies, from pairs of value and weight. Reorders the list.
template <class T>
T weighted_quantile(std::vector<std::pair<T, T>>& items, double share) {
  const bool even =
      std::all_of(items.begin(), items.end(), [&](const auto& item) { return item.second == items[0].second; });
  if (even) {  // without the sort that weights need
    const double at = std::ceil(share * static_cast<double>(items.size())) - 1;
    const auto nth =
        items.begin() + static_cast<std::ptrdiff_t>(std::clamp(at, 0.0, static_cast<double>(items.size() - 1)));
    std::nth_element(items.begin(), nth, items.end());
    return nth->first;
  }
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

}  // namespace tilecast
