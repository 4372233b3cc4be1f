#include "kernel/moe_loads.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace tilecast {
namespace {

// The value below which a share `u` of a power law on [low, high] lies.
double power_law_quantile(double u, double alpha, double low, double high) {
  const double power = 1 - alpha;
  if (std::abs(power) < 1e-9) return low * std::pow(high / low, u);
  const double from = std::pow(low, power), to = std::pow(high, power);
  return std::pow(from + u * (to - from), 1 / power);
}

// Rounds shares of `total` to whole rows, none above `most`; what rounding leaves over goes to, or comes from, the
// heaviest experts in turn. `shares` descend.
std::vector<Count> rounded_loads(const std::vector<double>& shares, Count total, Count most) {
  const double scale = static_cast<double>(total) / std::accumulate(shares.begin(), shares.end(), 0.0);
  std::vector<Count> loads;
  Count left = total;
  for (const double share : shares) {
    loads.push_back(std::min(most, static_cast<Count>(std::llround(share * scale))));
    left -= loads.back();
  }
  // Each pass moves every expert by at most its equal part of the rest, so few passes suffice.
  while (left != 0) {
    const Count before = left;
    const Count part = std::max<Count>(1, std::abs(left) / static_cast<Count>(loads.size()));
    for (Count& load : loads) {
      if (left == 0) break;
      const Count wanted = left > 0 ? std::min({part, left, most - load}) : -std::min({part, -left, load});
      load += wanted;
      left -= wanted;
    }
    if (left == before) break;  // every expert is full: topk == experts
  }
  return loads;
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
  const double low = many ? 1 : 0.01;
  const double high = many ? std::max(1.0, 0.8 * static_cast<double>(s.tokens)) : 2;
  std::vector<double> shares;
  for (Count i = s.experts - 1; i >= 0; --i)
    shares.push_back(
        power_law_quantile((static_cast<double>(i) + 0.5) / static_cast<double>(s.experts), s.alpha, low, high));
  const std::vector<Count> all = rounded_loads(shares, rows, s.tokens);
  std::vector<Count> dealt;
  for (std::size_t i = 0; i < all.size(); i += static_cast<std::size_t>(s.ep)) dealt.push_back(all[i]);
  return dealt;
}

// Rows certainly on this rank and experts certainly touched.
void set_certain(MoeLoads& loads, const Moe& s) {
  const Count local = s.local_experts();
  const Count rows = s.tokens * s.topk;
  switch (s.distribution) {
    case ExpertDistribution::given:
      loads.certain_rows = loads.total;
      loads.certain_experts = static_cast<Count>(loads.rows.size());
      break;
    case ExpertDistribution::balanced:
      loads.certain_rows = std::max<Count>(1, rows / s.ep);
      loads.certain_experts = std::min(local, std::max<Count>(1, std::min(s.experts, rows) / s.ep));
      break;
    case ExpertDistribution::power_law:
      loads.certain_rows = std::max<Count>(1, rows / s.ep);
      loads.certain_experts = ceil_div(loads.certain_rows, s.tokens);
      break;
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

}  // namespace tilecast
