#include "kernel/moe_loads.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>

#include "constants/product.h"
#include "support/random.h"

namespace tilecast {

using namespace constants;

namespace {

// The value below which a share `u` of a power law on [low, high] lies.
double power_law_quantile(double u, double alpha, double low, double high) {
  const double power = 1 - alpha;
  if (std::abs(power) < 1e-9) return low * std::pow(high / low, u);
  const double from = std::pow(low, power), to = std::pow(high, power);
  return std::pow(from + u * (to - from), 1 / power);
}

// Rows added one by one to the lightest expert, none above `most`. `loads` descend before and after.
void raise_lightest(std::vector<Count>& loads, Count rows, Count most) {
  const std::size_t n = loads.size();
  for (std::size_t width = 1; rows > 0 && width <= n; ++width) {
    // The lightest `width` experts are level; fill them up to the next one.
    const Count level = loads[n - width], next = width < n ? std::min(most, loads[n - width - 1]) : most;
    const Count count = static_cast<Count>(width), room = std::min(rows, (next - level) * count);
    for (std::size_t i = 0; i < width; ++i)
      loads[n - width + i] = level + room / count + (static_cast<Count>(i) < room % count ? 1 : 0);
    rows -= room;
  }
}

// Rows taken one by one from the heaviest expert. `loads` descend before and after.
void lower_heaviest(std::vector<Count>& loads, Count rows) {
  for (std::size_t width = 1; rows > 0 && width <= loads.size(); ++width) {
    const Count level = loads[width - 1], next = width < loads.size() ? loads[width] : 0;
    const Count count = static_cast<Count>(width), room = std::min(rows, (level - next) * count);
    for (std::size_t i = 0; i < width; ++i)
      loads[i] = level - room / count - (static_cast<Count>(i) >= count - room % count ? 1 : 0);
    rows -= room;
  }
}

// Whole rows of one rank: its shares are rounded and capped at `most`; `missing` rows make up the difference.
void settle(std::vector<Count>& loads, Count missing, Count most) {
  if (missing > 0) raise_lightest(loads, missing, most);
  else lower_heaviest(loads, -missing);
}

// Loads of the busiest of `ranks` equal ranks that the experts fall on at random: each order statistic averaged over
// several deals, then rounded so that the sum stays.
std::vector<Count> busiest_rank(std::vector<Count> all, Count ranks, Count missing, Count most) {
  constexpr int kDeals = 16;
  const std::size_t local = all.size() / static_cast<std::size_t>(ranks);
  std::vector<double> mean(local, 0.0);
  Random random(0);  // a fixed seed: the same shape always has the same loads
  for (int deal = 0; deal < kDeals; ++deal) {
    for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random.below(i)]);
    const auto sum = [&](Count rank) {
      const auto first = all.begin() + rank * static_cast<Count>(local);
      return std::accumulate(first, first + static_cast<Count>(local), Count{0});
    };
    Count busiest = 0;
    for (Count rank = 1; rank < ranks; ++rank)
      if (sum(rank) > sum(busiest)) busiest = rank;
    const auto first = all.begin() + busiest * static_cast<Count>(local);
    std::vector<Count> loads(first, first + static_cast<Count>(local));
    std::sort(loads.begin(), loads.end(), std::greater<>());
    settle(loads, missing >= 0 ? ceil_div(missing, ranks) : missing / ranks, most);
    for (std::size_t i = 0; i < local; ++i) mean[i] += static_cast<double>(loads[i]) / kDeals;
  }
  std::vector<Count> rounded;
  double so_far = 0;
  Count given = 0;
  for (const double load : mean) {
    so_far += load;
    rounded.push_back(std::llround(so_far) - given);
    given += rounded.back();
  }
  return rounded;
}

std::vector<Count> balanced_loads(const Moe& s) {
  const Count rows = s.tokens * s.topk;
  const Count heavier = ceil_div(rows % s.experts, s.ep);  // experts here that get one row more
  std::vector<Count> loads(static_cast<std::size_t>(s.local_experts()), rows / s.experts);
  for (Count i = 0; i < std::min(heavier, s.local_experts()); ++i) ++loads[static_cast<std::size_t>(i)];
  return loads;
}

std::vector<Count> power_law_loads(const Moe& s) {
  const Count rows = s.tokens * s.topk;
  const bool many = rows > s.experts;
  const double low = many ? 1.0 : kFewLeastShare;
  const double high = many ? std::max(1.0, kManyMostShare * static_cast<double>(s.tokens)) : kFewMostShare;
  std::vector<double> shares;
  for (Count i = s.experts - 1; i >= 0; --i)
    shares.push_back(
        power_law_quantile((static_cast<double>(i) + 0.5) / static_cast<double>(s.experts), s.alpha, low, high));
  const double scale = static_cast<double>(rows) / std::accumulate(shares.begin(), shares.end(), 0.0);
  std::vector<Count> loads;
  Count missing = rows;
  for (const double share : shares) {
    loads.push_back(std::min(s.tokens, static_cast<Count>(std::llround(share * scale))));
    missing -= loads.back();
  }
  if (s.ep > 1) {
    loads.resize(static_cast<std::size_t>(s.local_experts() * s.ep), 0);
    return busiest_rank(std::move(loads), s.ep, missing, s.tokens);
  }
  settle(loads, missing, s.tokens);
  return loads;
}

// Rows certainly on this rank and experts certainly touched. Tokens that all choose the same experts touch the fewest.
void set_certain(MoeLoads& loads, const Moe& s) {
  const Count local = s.local_experts();
  const Count rows = s.tokens * s.topk;
  if (s.distribution == ExpertDistribution::given) {
    loads.certain_rows = loads.total;
    loads.certain_experts = loads.assumed_experts = static_cast<Count>(loads.rows.size());
  } else {
    loads.certain_rows = std::max<Count>(1, rows / s.ep);
    loads.certain_experts = loads.assumed_experts = ceil_div(loads.certain_rows, s.tokens);
    if (s.distribution == ExpertDistribution::balanced)
      loads.assumed_experts = std::min(local, std::max<Count>(1, std::min(s.experts, rows) / s.ep));
  }
  loads.certain_tokens = ceil_div(loads.certain_rows, std::min(s.topk, local));
}

}  // namespace

MoeLoads moe_loads(const Moe& shape) {
  MoeLoads loads;
  switch (shape.distribution) {
    case ExpertDistribution::balanced: loads.rows = balanced_loads(shape); break;
    case ExpertDistribution::power_law: loads.rows = power_law_loads(shape); break;
    case ExpertDistribution::given: loads.rows = shape.counts; break;
  }
  std::erase(loads.rows, 0);
  std::sort(loads.rows.begin(), loads.rows.end(), std::greater<>());
  loads.total = std::accumulate(loads.rows.begin(), loads.rows.end(), Count{0});
  set_certain(loads, shape);
  return loads;
}

namespace {

// Relative probabilities of each number of rows, from `first` on: the binomial distribution as far as it matters.
struct Chances {
  Count first = 0;
  std::vector<double> of;
};
Chances binomial_chances(Count tokens, double share) {
  const double n = static_cast<double>(tokens), mean = n * share;
  const Count reach = static_cast<Count>(8 * std::sqrt(mean * (1 - share)) + 8);
  const Count mode = std::min(tokens, static_cast<Count>(mean));
  Chances chances{std::max<Count>(0, mode - reach), {}};
  const Count last = std::min(tokens, mode + reach);
  chances.of.assign(static_cast<std::size_t>(last - chances.first + 1), 1.0);
  const double odds = share / (1 - share);
  const auto at = [&](Count rows) -> double& { return chances.of[static_cast<std::size_t>(rows - chances.first)]; };
  for (Count rows = mode; rows < last; ++rows)
    at(rows + 1) = at(rows) * odds * (n - static_cast<double>(rows)) / static_cast<double>(rows + 1);
  for (Count rows = mode; rows > chances.first; --rows)
    at(rows - 1) = at(rows) * static_cast<double>(rows) / (odds * (n - static_cast<double>(rows) + 1));
  return chances;
}

// Quantiles (i + 1/2) / count, descending.
std::vector<Count> quantiles(const Chances& chances, std::size_t count) {
  const double all = std::accumulate(chances.of.begin(), chances.of.end(), 0.0);
  std::vector<Count> values;
  double below = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double wanted = (static_cast<double>(i) + 0.5) / static_cast<double>(count) * all;
    while (at + 1 < chances.of.size() && below + chances.of[at] < wanted) below += chances.of[at++];
    values.push_back(chances.first + static_cast<Count>(at));
  }
  std::reverse(values.begin(), values.end());
  return values;
}

}  // namespace

MoeLoads random_moe_loads(const Moe& shape) {
  MoeLoads loads = moe_loads(shape);
  if (shape.distribution != ExpertDistribution::balanced || shape.topk == shape.experts) return loads;
  const double share = static_cast<double>(shape.topk) / static_cast<double>(shape.experts);
  std::vector<Count> rows =
      quantiles(binomial_chances(shape.tokens, share), static_cast<std::size_t>(shape.local_experts()));
  const Count sum = std::accumulate(rows.begin(), rows.end(), Count{0});
  settle(rows, loads.total - sum, shape.tokens);
  std::erase(rows, Count{0});
  loads.rows = std::move(rows);
  loads.assumed_experts = std::min(loads.assumed_experts, static_cast<Count>(loads.rows.size()));
  return loads;
}

}  // namespace tilecast
