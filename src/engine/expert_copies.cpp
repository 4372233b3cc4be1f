#include "engine/expert_copies.h"

#include <algorithm>
#include <functional>

#include "kernel/moe_loads.h"

namespace tilecast {

std::vector<Count> busiest_with_copies(std::vector<Count> loads, Count redundant, Count ranks) {
  std::vector<Count> copies(loads.size(), 1);
  const auto each = [&](std::size_t i) { return static_cast<double>(loads[i]) / static_cast<double>(copies[i]); };
  for (Count n = 0; n < redundant; ++n) {
    std::size_t heaviest = 0;
    for (std::size_t i = 1; i < loads.size(); ++i)
      if (copies[i] < ranks && (copies[heaviest] >= ranks || each(i) > each(heaviest))) heaviest = i;
    ++copies[heaviest];
  }
  std::vector<Count> slots;
  for (std::size_t i = 0; i < loads.size(); ++i)
    for (Count c = 0; c < copies[i]; ++c) slots.push_back(loads[i] / copies[i] + (c < loads[i] % copies[i] ? 1 : 0));
  std::sort(slots.begin(), slots.end(), std::greater<>());
  const std::size_t places = (slots.size() + static_cast<std::size_t>(ranks) - 1) / static_cast<std::size_t>(ranks);
  std::vector<std::vector<Count>> packs(static_cast<std::size_t>(ranks));
  std::vector<Count> sums(packs.size(), 0);
  for (const Count slot : slots) {
    std::size_t best = packs.size();
    for (std::size_t r = 0; r < packs.size(); ++r)
      if (packs[r].size() < places && (best == packs.size() || sums[r] < sums[best])) best = r;
    packs[best].push_back(slot), sums[best] += slot;
  }
  const auto busiest = std::max_element(sums.begin(), sums.end()) - sums.begin();
  packs[static_cast<std::size_t>(busiest)].resize(places, 0);
  return packs[static_cast<std::size_t>(busiest)];
}

Result<Moe> with_expert_copies(Moe shape, Count redundant, const std::optional<Routing>& routing) {
  Moe all = shape;  // every expert on one rank
  all.ep = 1, all.counts.clear();
  if (routing && routing->kind == ExpertDistribution::given) {
    auto measured = routed(all, *routing);
    if (!measured) return std::move(measured).error();
    all = *std::move(measured);
  }
  std::vector<Count> loads = moe_loads(all).rows;
  loads.resize(static_cast<std::size_t>(shape.experts), 0);
  shape.counts = busiest_with_copies(std::move(loads), redundant, shape.ep);
  shape.distribution = ExpertDistribution::given;
  shape.experts += redundant;
  return shape;
}

}  // namespace tilecast
