#include "lab/train/spread.h"

#include <algorithm>
#include <cmath>

namespace tilecast {
namespace {

constexpr double kTail = 0.1;  // of rows beyond either end

// Quantiles of what is left over. Few and shallow trees: the width of an interval needs no detail.
Spread spread_of(const BoostData& left, const BoostOptions& like) {
  BoostOptions options = like;
  options.trees = std::min(60, like.trees);
  options.depth = 4;
  options.rate = 0.15;
  options.row_share = 1;
  options.feature_share = 1;
  options.least_leaf = 50;
  Spread spread;
  options.quantile = kTail;
  spread.low = boost(left, options);
  options.quantile = 1 - kTail;
  spread.high = boost(left, options);
  return spread;
}

// By how much an interval must be stretched about its middle forecast to hold each row.
std::vector<float> stretches(const Spread& spread, const BoostData& left) {
  std::vector<float> low(left.rows()), high(left.rows()), needed(left.rows());
  spread.low.predict(left.features, low);
  spread.high.predict(left.features, high);
  constexpr float kLeast = 1e-3f;  // an end on the forecast itself would need an infinite one
  for (std::size_t i = 0; i < left.rows(); ++i)
    needed[i] =
        left.targets[i] < 0 ? left.targets[i] / std::min(low[i], -kLeast) : left.targets[i] / std::max(high[i], kLeast);
  return needed;
}

// The stretch that holds 80 % of rows, every group of them (a card) counting the same.
float stretch_of(const std::vector<std::vector<float>>& groups) {
  std::vector<std::pair<float, double>> all;
  double count = 0;
  for (const auto& group : groups) {
    for (const float needed : group) all.emplace_back(needed, 1.0 / static_cast<double>(group.size()));
    count += group.empty() ? 0 : 1;
  }
  std::sort(all.begin(), all.end());
  double held = 0;
  for (const auto& [needed, weight] : all)
    if ((held += weight) >= (1 - 2 * kTail) * count) return std::clamp(needed, 0.5f, 3.0f);
  return 1;
}

// What one card left over, and how well it was known.
struct Leftover {
  BoostData data;
  float standing = kNothingSeen;
};

// Cards differ more from each other than rows of one card do: a spread fitted to some is too narrow for the next. How
// much too narrow is found by judging each card with the spread of the others.
constexpr float kTrust = 2.0f / 3;  // that few cards deserve; 0 held too few rows of left-out cards, 1 too many
float stretch_between_cards(const std::vector<Leftover>& all, float standing, const BoostOptions& like) {
  std::vector<std::vector<float>> groups;
  for (const Leftover& judged : all) {
    if (judged.standing != standing) continue;
    BoostData others;
    for (const Leftover& other : all)
      if (&other != &judged && other.standing == standing) append(others, other.data);
    if (others.rows() > 0) groups.push_back(stretches(spread_of(others, like), judged.data));
  }
  return std::pow(stretch_of(groups), kTrust);
}

// Without a second card to leave out: about what siblings and strangers differ by on bf16 GEMM.
constexpr float kGuessedSibling = 0.15f, kGuessedUnseen = 0.3f;

}  // namespace

Spread guessed_spread() {
  const auto end = [](float sibling, float unseen) {
    std::vector<std::vector<float>> borders(kFeatureCount);
    borders[index_of(Feature::card)] = {(kSiblingSeen + kNothingSeen) / 2};
    Forest::Tree tree;
    tree.depth = 1;
    tree.feature[0] = static_cast<std::uint8_t>(Feature::card);
    tree.leaf = {sibling, unseen};
    return Forest(std::move(borders), 0, {tree});
  };
  return {end(-kGuessedSibling, -kGuessedUnseen), end(kGuessedSibling, kGuessedUnseen)};
}

Spread seen_spread(const FamilyModel& model, const FitRows& apart, const BoostOptions& like) {
  BoostData left;
  std::map<std::string, FitRows> by_card;
  for (const PlannedRow* row : apart) by_card[row->gpu->name].push_back(row);
  // A stretch needs rows that the quantiles were not fitted to.
  BoostData fitted;
  std::vector<BoostData> judged;
  for (const auto& [card, rows] : by_card) {
    const auto own = model.cards.find(card);
    if (own == model.cards.end()) continue;
    const Forest& forest = own->second;
    append(left, leftovers(data_of(model, rows, Knows::cards), forest));
    append(fitted, leftovers(data_of(model, by_hash(rows, 0.5, 13), Knows::cards), forest));
    judged.push_back(leftovers(data_of(model, by_hash(rows, 0.5, 13, false), Knows::cards), forest));
  }
  if (fitted.rows() == 0) return guessed_spread();
  const Spread half = spread_of(fitted, like);
  std::vector<std::vector<float>> groups;
  for (const BoostData& rows : judged) groups.push_back(stretches(half, rows));
  const float stretch = stretch_of(groups);
  for (float& target : left.targets) target *= stretch;
  return spread_of(left, like);
}

Spread unseen_spread(std::span<const LeftOut> judged, const Carries& carries, const BoostOptions& like) {
  std::vector<Leftover> all;
  for (const LeftOut& card : judged) all.push_back({leftovers(card, carries), card.standing});
  BoostData left;
  for (const float standing : {kSiblingSeen, kNothingSeen}) {
    const float stretch = stretch_between_cards(all, standing, like);
    for (Leftover& one : all) {
      if (one.standing != standing) continue;
      for (float& target : one.data.targets) target *= stretch;
      append(left, one.data);
    }
  }
  if (std::none_of(all.begin(), all.end(),
                   [](const Leftover& one) { return one.standing == kNothingSeen && one.data.rows() > 0; })) {
    BoostData guess = left;  // siblings alone tell little of others
    for (std::size_t i = 0; i < guess.rows(); ++i) {
      guess.features[i * kFeatureCount + index_of(Feature::card)] = kNothingSeen;
      guess.targets[i] *= kGuessedUnseen / kGuessedSibling;
    }
    append(left, guess);
  }
  return left.rows() > 0 ? spread_of(left, like) : guessed_spread();
}

}  // namespace tilecast
