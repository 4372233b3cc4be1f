#include "lab/train/spread.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "support/statistics.h"

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

// What was left over of a card, and which other cards' rows may tell how sure it is.
struct Leftovers {
  BoostData rows;
  std::string apart;  // cards of the same are not among the others: they were left out together, and err alike
};

// Quantiles of Student's distribution at 10, 30, 50, 70 and 90 %, symmetric: the outer one and the inner one, for one
// to seven degrees of freedom; for more, the normal distribution's.
constexpr std::array<std::array<float, 2>, 8> kStudent = {{{3.08f, 0.73f},
                                                           {1.89f, 0.62f},
                                                           {1.64f, 0.58f},
                                                           {1.53f, 0.57f},
                                                           {1.48f, 0.56f},
                                                           {1.44f, 0.55f},
                                                           {1.41f, 0.55f},
                                                           {1.28f, 0.52f}}};

// Rows come in the order of their shapes: which of five a row is must not follow it.
std::size_t place_of(std::size_t row) { return (row * 2654435761u >> 16) & 0xffff; }

float median_of(const BoostData& rows) { return upper_median(rows.targets); }

// Rows as those of a card that is not among these. All rows of a card are off by a common part, its median, and few
// cards tell how far that reaches: a spread of the rows as they are would be as wide as these cards' medians happen to
// lie. So each row keeps what it has beside its card's median, and gets a common part as the next card may have one,
// after as many as there are: one row in five each of Student's quantiles.
BoostData of_next_card(const std::vector<const Leftovers*>& cards) {
  std::map<std::string, std::vector<float>> squares;
  for (const Leftovers* card : cards) squares[card->apart].push_back(std::pow(median_of(card->rows), 2.0f));
  double sum = 0;
  for (const auto& [apart, own] : squares)
    sum += std::accumulate(own.begin(), own.end(), 0.0) / static_cast<double>(own.size());
  const auto deviation =
      static_cast<float>(std::sqrt(sum / static_cast<double>(std::max<std::size_t>(1, squares.size()))));
  const auto& [outer, inner] = kStudent[std::min(squares.size(), kStudent.size()) - 1];
  const std::array<float, 5> common = {-outer, inner, 0, -inner, outer};
  BoostData all;
  for (const Leftovers* card : cards) {
    BoostData rows = card->rows;
    const float median = median_of(rows);
    for (std::size_t i = 0; i < rows.rows(); ++i)
      rows.targets[i] += common[place_of(i) % common.size()] * deviation - median;
    append(all, rows);
  }
  return all;
}

// Cards differ more from each other than rows of one card do, by kernel and size too: a spread fitted to some is too
// narrow for the next. How much too narrow is found by judging each card with the spread of the others. Nothing is
// added to it afterwards, so the whole of it counts.
float stretch_between_cards(const std::vector<Leftovers>& cards, const BoostOptions& like) {
  std::vector<std::vector<float>> groups;
  for (const Leftovers& judged : cards) {
    std::vector<const Leftovers*> others;
    for (const Leftovers& other : cards)
      if (other.apart != judged.apart) others.push_back(&other);
    if (!others.empty()) groups.push_back(stretches(spread_of(of_next_card(others), like), judged.rows));
  }
  return stretch_of(groups);
}

// From what each card left over: the rows whose Feature::card is `standing`, stretched by how much cards differ.
BoostData stretched(std::span<const LeftOut> judged, const Carries& carries, float standing, const BoostOptions& like) {
  std::vector<Leftovers> cards;
  for (const LeftOut& card : judged) {
    const BoostData one = leftovers(card, carries);
    BoostData own;
    own.width = one.width;
    for (std::size_t i = 0; i < one.rows(); ++i) {
      const auto row = one.features.begin() + static_cast<std::ptrdiff_t>(i * one.width);
      if (row[index_of(Feature::card)] != standing) continue;
      own.features.insert(own.features.end(), row, row + static_cast<std::ptrdiff_t>(one.width));
      own.targets.push_back(one.targets[i]);
      own.weights.push_back(one.weights[i]);
    }
    const bool alone = standing == kSiblingSeen;  // its siblings were trained on
    if (own.rows() > 0) cards.push_back({std::move(own), alone ? std::to_string(cards.size()) : card.architecture});
  }
  if (cards.empty()) return {};
  std::vector<const Leftovers*> every;
  every.reserve(cards.size());
  for (const Leftovers& card : cards) every.push_back(&card);
  BoostData all = of_next_card(every);
  const float stretch = stretch_between_cards(cards, like);
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
  groups.reserve(judged.size());
  for (const BoostData& rows : judged) groups.push_back(stretches(half, rows));
  const float stretch = stretch_of(groups);
  for (float& target : left.targets) target *= stretch;
  return spread_of(left, like);
}

UnseenSpreads unseen_spreads(std::span<const LeftOut> judged, const Carries& carries, const BoostOptions& like) {
  const BoostData siblings = stretched(judged, carries, kSiblingSeen, like);
  BoostData strangers = stretched(judged, carries, kNothingSeen, like);
  if (siblings.rows() == 0 && strangers.rows() == 0) return {even_spread(kGuessedSibling), guessed_spread()};
  if (strangers.rows() == 0) {  // siblings alone tell little of others
    strangers = siblings;
    for (float& target : strangers.targets) target *= kGuessedUnseen / kGuessedSibling;
  }
  const Spread wide = spread_of(strangers, like);
  return {siblings.rows() == 0 ? wide : spread_of(siblings, like), wide};
}

}  // namespace tilecast
