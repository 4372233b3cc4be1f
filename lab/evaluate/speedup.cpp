#include "lab/evaluate/speedup.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "measure/dims.h"
#include "support/statistics.h"

namespace tilecast {
namespace {

// What two GPUs must share to be compared.
struct SameWork {
  std::string_view family, dtype, engine, source;
  Runtime runtime;
  Warmth warmth;
  std::uint64_t shape;
  auto operator<=>(const SameWork&) const = default;
};

// Sums of logarithms, for geometric means.
struct Times {
  double measured = 0, forecast = 0;
  int rows = 0;
};

// Shares and errors of the pairs of one group, all of the same two GPUs.
SpeedupErrors errors_of(const std::vector<const SpeedupPair*>& pairs) {
  SpeedupErrors e;
  std::vector<double> errors;
  Count decided = 0, right = 0, clear_right = 0;
  for (const SpeedupPair* pair : pairs) {
    errors.push_back(pair->error());
    e.mean += errors.back() / static_cast<double>(pairs.size());
    decided += pair->decided() ? 1 : 0;
    right += pair->named_right() ? 1 : 0;
    e.clear += pair->clear() ? 1 : 0;
    clear_right += pair->clear() && pair->named_right() ? 1 : 0;
  }
  e.pairs = static_cast<Count>(pairs.size());
  e.median = median(std::move(errors));
  if (decided > 0) e.named_right = static_cast<double>(right) / static_cast<double>(decided);
  if (e.clear > 0) e.clear_named_right = static_cast<double>(clear_right) / static_cast<double>(e.clear);
  return e;
}

// Averages over pairs of GPUs; shares of clear pairs only over those that have any.
SpeedupErrors average(const std::vector<SpeedupErrors>& parts) {
  SpeedupErrors all;
  const auto n = static_cast<double>(parts.size());
  double with_clear = 0;
  for (const SpeedupErrors& part : parts) {
    all.pairs += part.pairs;
    all.clear += part.clear;
    all.mean += part.mean / n;
    all.median += part.median / n;
    all.named_right += part.named_right / n;
    all.clear_named_right += part.clear_named_right;
    with_clear += part.clear > 0 ? 1 : 0;
  }
  if (with_clear > 0) all.clear_named_right /= with_clear;
  return all;
}

SpeedupErrors named(SpeedupErrors e, std::string_view from, std::string_view to, std::string_view family) {
  e.from = from;
  e.to = to;
  e.family = family;
  return e;
}

}  // namespace

double SpeedupPair::error() const { return std::abs(predicted / measured - 1); }
bool SpeedupPair::clear() const { return std::max(measured, 1 / measured) > 1 + kClear; }

std::vector<SpeedupPair> speedup_pairs(const std::vector<Measurement>& rows, const std::vector<Outcome>& outcomes) {
  std::map<SameWork, std::map<std::string_view, Times>> cases;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (outcomes[i].failed) continue;
    const Measurement& row = rows[i];
    Times& times = cases[{family_of(row.kernel.shape), row.kernel.format.name, row.engine, row.source,
                          row.context.runtime, row.context.warmth, shape_hash(row.kernel.shape)}][row.gpu];
    times.measured += std::log(in_seconds(row.latency));
    times.forecast += std::log(in_seconds(outcomes[i].forecast));
    ++times.rows;
  }
  std::vector<SpeedupPair> pairs;
  for (const auto& [key, by_gpu] : cases)
    for (auto a = by_gpu.begin(); a != by_gpu.end(); ++a)
      for (auto b = std::next(a); b != by_gpu.end(); ++b) {
        const auto ratio = [&](double Times::*sum) {
          return std::exp(a->second.*sum / a->second.rows - b->second.*sum / b->second.rows);
        };
        pairs.push_back({a->first, b->first, key.family, ratio(&Times::measured), ratio(&Times::forecast)});
      }
  std::stable_sort(pairs.begin(), pairs.end(), [](const SpeedupPair& a, const SpeedupPair& b) {
    return std::tie(a.from, a.to, a.family) < std::tie(b.from, b.to, b.family);
  });
  return pairs;
}

std::vector<SpeedupErrors> speedup_errors(const std::vector<SpeedupPair>& pairs) {
  using Gpus = std::pair<std::string_view, std::string_view>;
  std::map<Gpus, std::map<std::string_view, std::vector<const SpeedupPair*>>> groups;
  for (const SpeedupPair& pair : pairs) groups[{pair.from, pair.to}][pair.family].push_back(&pair);
  std::vector<SpeedupErrors> list;
  std::map<std::string_view, std::vector<SpeedupErrors>> by_family;
  std::vector<SpeedupErrors> whole;
  for (const auto& [gpus, families] : groups) {
    std::vector<const SpeedupPair*> together;
    for (const auto& [family, members] : families) {
      list.push_back(named(errors_of(members), gpus.first, gpus.second, family));
      by_family[family].push_back(list.back());
      together.insert(together.end(), members.begin(), members.end());
    }
    whole.push_back(named(errors_of(together), gpus.first, gpus.second, "all"));
    list.push_back(whole.back());
  }
  for (const auto& [family, parts] : by_family) list.push_back(named(average(parts), "all", "all", family));
  if (!whole.empty()) list.push_back(named(average(whole), "all", "all", "all"));
  return list;
}

}  // namespace tilecast
