#include "lab/train/spread.h"

#include <algorithm>
#include <cmath>

namespace tilecast {
namespace {

constexpr double kTail = 0.1;  // of rows beyond either end

// Quantiles of what is left over. Few and shallow trees: the width of an interval needs no detail.
Spread spread_of(const BoostData& left, const BoostOptions& like) {
  BoostOptions options = like;
  options.threads = 1;  // hardly anything to share
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

// Cards differ more from each other than rows of one card do: a spread fitted to some is too narrow for the next. How
// much too narrow is found by judging each card with the spread of the others.
constexpr float kTrust = 2.0f / 3;  // that few cards deserve; 0 held too few rows of left-out cards, 1 too many
// Two siblings tell of one pair alone: of siblings on Hopper, decodes of siblings on Blackwell were held in 52 to 58 %.
// A quarter more made intervals of planted rows wider than their noise.
constexpr float kLonePair = 1.2f;
float stretch_between_cards(const std::vector<BoostData>& cards, const BoostOptions& like) {
  std::vector<std::vector<float>> groups;
  for (const BoostData& judged : cards) {
    BoostData others;
    for (const BoostData& other : cards)
      if (&other != &judged) append(others, other);
    if (others.rows() > 0) groups.push_back(stretches(spread_of(others, like), judged));
  }
  return std::pow(stretch_of(groups), kTrust);
}

// From what each card left over: the rows whose Feature::card is `standing`, stretched by how much cards differ.
BoostData stretched(const std::vector<BoostData>& left, float standing, const BoostOptions& like) {
  std::vector<BoostData> cards;
  for (const BoostData& one : left) {
    BoostData own;
    own.width = one.width;
    for (std::size_t i = 0; i < one.rows(); ++i) {
      const auto row = one.features.begin() + static_cast<std::ptrdiff_t>(i * one.width);
      if (row[index_of(Feature::card)] != standing) continue;
      own.features.insert(own.features.end(), row, row + static_cast<std::ptrdiff_t>(one.width));
      own.targets.push_back(one.targets[i]);
      own.weights.push_back(one.weights[i]);
    }
    if (own.rows() > 0) cards.push_back(std::move(own));
  }
  BoostData all;
  for (const BoostData& card : cards) append(all, card);
  if (all.rows() == 0) return all;
  const bool lone_pair = standing == kSiblingSeen && cards.size() <= 2;
  const float stretch = stretch_between_cards(cards, like) * (lone_pair ? kLonePair : 1.0f);
  for (float& target : all.targets) target *= stretch;
  return all;
}

// Without a second card to leave out: about what siblings and strangers differ by on bf16 GEMM.
constexpr float kGuessedSibling = 0.15f, kGuessedUnseen = 0.3f;

Spread even_spread(float width) {
  return {Forest::constant(kFeatureCount, -width), Forest::constant(kFeatureCount, width)};
}

}  // namespace

Spread guessed_spread() { return even_spread(kGuessedUnseen); }

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

UnseenSpreads unseen_spreads(std::span<const LeftOut> judged, const Carries& carries, const BoostOptions& like) {
  std::vector<BoostData> left;
  for (const LeftOut& card : judged) left.push_back(leftovers(card, carries));
  const BoostData siblings = stretched(left, kSiblingSeen, like);
  BoostData strangers = stretched(left, kNothingSeen, like);
  if (siblings.rows() == 0 && strangers.rows() == 0) return {even_spread(kGuessedSibling), guessed_spread()};
  if (strangers.rows() == 0) {  // siblings alone tell little of others
    strangers = siblings;
    for (float& target : strangers.targets) target *= kGuessedUnseen / kGuessedSibling;
  }
  const Spread wide = spread_of(strangers, like);
  return {siblings.rows() == 0 ? wide : spread_of(siblings, like), wide};
}

}  // namespace tilecast
