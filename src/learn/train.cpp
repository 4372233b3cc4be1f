#include "learn/train.h"

#include <algorithm>
#include <cmath>

#include "learn/dims.h"
#include "learn/tune.h"

namespace tilecast {
namespace {

using Rows = std::vector<const PlannedRow*>;

// Rows whose shapes' hashes fall into the first `share`; another seed gives an independent choice.
Rows by_hash(std::span<const PlannedRow* const> rows, double share, std::uint64_t seed, bool inside = true) {
  const auto limit = static_cast<std::uint64_t>(share * 18446744073709549568.0);
  Rows chosen;
  for (const PlannedRow* row : rows)
    if (share >= 1 ? inside : (shape_hash(row->measured->kernel.shape, seed) < limit) == inside) chosen.push_back(row);
  return chosen;
}

Rows at_most(std::span<const PlannedRow* const> rows, std::size_t most, std::uint64_t seed) {
  return by_hash(rows, static_cast<double>(most) / static_cast<double>(std::max<std::size_t>(rows.size(), 1)), seed);
}

// The standings of a model's sources and cards, looked up once each.
class Standings {
 public:
  explicit Standings(const FamilyModel& model) : model_(model) {}
  const Standing& of(const PlannedRow& row) {
    const Key key{row.gpu, row.measured->engine, row.measured->kernel_source};
    const auto found = known_.find(key);
    if (found != known_.end()) return found->second;
    return known_[key] = standing_of(model_, row.measured->whole_context(), *row.gpu);
  }

 private:
  using Key = std::tuple<const Gpu*, std::string_view, std::string_view>;
  const FamilyModel& model_;
  std::map<Key, Standing> known_;
};

float residual(const PlannedRow& row, Seconds base) {
  return static_cast<float>(std::log(row.measured->latency / base));
}

enum class Knows : std::uint8_t { no_card, cards };

// Features and targets of rows, as a forest that may or may not know cards sees them.
BoostData data_of(const FamilyModel& model, const Rows& rows, Knows knows) {
  BoostData data;
  data.width = kFeatureCount;
  data.features.reserve(rows.size() * kFeatureCount);
  Standings standings(model);
  for (const PlannedRow* row : rows) {
    Standing standing = standings.of(*row);
    const auto card = model.seen.find(row->gpu->name);
    if (knows == Knows::no_card || card == model.seen.end())
      standing.card_index = kNothingSeen, standing.source_index = -1;
    else standing.card_index = static_cast<float>(std::distance(model.seen.begin(), card));
    const Prepared p = prepare(row->input, standing);
    data.features.insert(data.features.end(), p.features.begin(), p.features.end());
    data.targets.push_back(residual(*row, p.base));
  }
  return data;
}

// What a forest's forecasts of rows leave over.
BoostData leftovers(BoostData data, const Forest& forest) {
  std::vector<float> forecast(data.rows());
  forest.predict(data.features, forecast);
  for (std::size_t i = 0; i < data.rows(); ++i) data.targets[i] -= forecast[i];
  return data;
}

void append(BoostData& all, const BoostData& more) {
  all.width = more.width;
  all.features.insert(all.features.end(), more.features.begin(), more.features.end());
  all.targets.insert(all.targets.end(), more.targets.begin(), more.targets.end());
}

// Quantiles of what is left over. Few and shallow trees: the width of an interval needs no detail.
Spread spread_of(const BoostData& left, const BoostOptions& like, double tail) {
  BoostOptions options = like;
  options.trees = std::min(60, like.trees);
  options.depth = 4;
  options.rate = 0.15;
  options.row_share = 1;
  options.least_leaf = 50;
  Spread spread;
  options.quantile = tail;
  spread.low = boost(left, options);
  options.quantile = 1 - tail;
  spread.high = boost(left, options);
  return spread;
}

// Shares of rows beyond each end of the interval. Cards differ more from each other than the few that can be left out
// here show, so the ends for unseen ones lie further out: with 0.1 they held 73 % of
// bf16 GEMM rows of the six cards left out.
constexpr double kSeenTail = 0.1, kUnseenTail = 0.07;

// A constant spread where there is no second card to leave out.
constexpr float kLoneSpread = 0.3f;
Spread lone_spread() {
  return {Forest::constant(kFeatureCount, -kLoneSpread), Forest::constant(kFeatureCount, kLoneSpread)};
}

std::map<std::string, Count> cards_of(std::span<const PlannedRow* const> rows) {
  std::map<std::string, Count> cards;
  for (const PlannedRow* row : rows) ++cards[row->gpu->name];
  return cards;
}

// A sibling's rows count this many times: 3 and 8 did about equally well on bf16 GEMM, both better than 1.
constexpr float kSiblingWeight = 5;

// The forest for unseen cards like this one: other vendors' rows left away, siblings' rows weighted.
Forest sibling_forest(const FamilyModel& model, const Rows& rows, const Gpu& like, const BoostOptions& options) {
  Rows own;
  std::vector<float> weights;
  for (const PlannedRow* row : rows) {
    if (row->gpu->vendor != like.vendor) continue;
    own.push_back(row);
    weights.push_back(architecture_key(*row->gpu) == architecture_key(like) ? kSiblingWeight : 1.0f);
  }
  BoostData data = data_of(model, own, Knows::no_card);
  data.weights = std::move(weights);
  return boost(data, options);
}

// Architectures of rows, with a card of each.
std::map<std::string, const Gpu*> architectures_of(std::span<const PlannedRow* const> rows) {
  std::map<std::string, const Gpu*> all;
  for (const PlannedRow* row : rows) all.emplace(architecture_key(*row->gpu), row->gpu);
  return all;
}

// How far forecasts of a card never seen lie off: every card in turn is left out of a smaller training like this one,
// and what is left over of its rows is kept.
Spread unseen_spread(std::span<const PlannedRow* const> rows, const TrainOptions& options) {
  constexpr std::size_t kMostRows = 10000;
  const Rows few = at_most(rows, kMostRows, 23);
  BoostData left;
  const auto cards = cards_of(few);
  if (cards.size() < 2) return lone_spread();
  for (const auto& [card, count] : cards) {
    Rows rest, out;
    for (const PlannedRow* row : few) (row->gpu->name == card ? out : rest).push_back(row);
    const Gpu& gpu = *out.front()->gpu;
    const bool alone =
        std::none_of(rest.begin(), rest.end(), [&](const PlannedRow* row) { return row->gpu->vendor == gpu.vendor; });
    if (alone) continue;  // strangers have a spread of their own
    FamilyModel model;
    model.sources = fit_sources(rest);
    BoostOptions general = options.general;
    general.trees = std::min(120, general.trees);
    const Forest forest = sibling_forest(model, rest, gpu, general);
    BoostData over = leftovers(data_of(model, out, Knows::no_card), forest);
    const float standing = architectures_of(rest).contains(architecture_key(gpu)) ? kSiblingSeen : kNothingSeen;
    for (std::size_t i = 0; i < over.rows(); ++i) over.features[i * kFeatureCount + kCardFeature] = standing;
    append(left, over);
  }
  return left.rows() > 0 ? spread_of(left, options.general, kUnseenTail) : lone_spread();
}

bool contains(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// Fewer rows feed fewer trees.
BoostOptions fitting(BoostOptions options, std::size_t rows) {
  options.trees = std::min(options.trees, static_cast<int>(40 + rows / 25));
  return options;
}

}  // namespace

void TrainOptions::set_trees(int trees) {
  card.trees = static_cast<int>(static_cast<double>(card.trees) * trees / general.trees);
  general.trees = trees;
}
void TrainOptions::set_seed(std::uint64_t seed) { general.seed = card.seed = seed; }
void TrainOptions::set_threads(int threads) { general.threads = card.threads = threads; }

FamilyModel train_family(std::span<const PlannedRow* const> rows, const TrainOptions& options) {
  FamilyModel model;
  model.general = model.card = model.ceiling = Forest::constant(kFeatureCount, 0);
  model.seen_spread = model.unseen_spread = lone_spread();
  if (rows.empty()) return model;
  model.key = model_key(rows.front()->measured->kernel);
  // Some rows only measure how wide the interval of a seen card must be.
  const double kept_apart = options.cards && options.intervals && rows.size() >= 400 ? 1.0 / 16 : 0;
  const Rows apart = by_hash(rows, kept_apart, 11), trained = by_hash(rows, kept_apart, 11, false);
  model.seen = cards_of(rows);
  model.sources = fit_sources(trained);

  const Rows few = at_most(trained, options.general_rows, 5);
  const BoostData general = data_of(model, few, Knows::no_card);
  const auto architectures = architectures_of(few);
  const auto seen_all = [&](const std::vector<std::string>& asked) {
    return std::all_of(asked.begin(), asked.end(), [&](const auto& key) { return architectures.contains(key); });
  };
  // Where only siblings of certain cards are asked for, nobody else needs the forest for all.
  if (options.architectures.empty() || !seen_all(options.architectures))
    model.general = boost(general, fitting(options.general, few.size()));
  for (const auto& [architecture, card] : architectures)
    if (options.architectures.empty() || contains(options.architectures, architecture))
      model.siblings[architecture] = sibling_forest(model, few, *card, fitting(options.general, few.size()));
  if (options.cards) {
    model.card = boost(data_of(model, trained, Knows::cards), fitting(options.card, trained.size()));
    if (!apart.empty())
      model.seen_spread =
          spread_of(leftovers(data_of(model, apart, Knows::cards), model.card), options.card, kSeenTail);
  }
  if (options.intervals) {
    model.unseen_spread = unseen_spread(trained, options);
    BoostOptions ceiling = fitting(options.general, few.size());
    ceiling.quantile = 0.2;  // the fastest fifth: SynPerf's P80 of efficiency
    ceiling.trees = std::min(150, ceiling.trees);
    model.ceiling = boost(general, ceiling);
  }
  return model;
}

Outcome learned_outcome(const FamilyModel& model, const PlannedRow& row) {
  Outcome outcome = row.analytic;
  if (outcome.failed || model.key.empty()) return outcome;
  const Standing standing = standing_of(model, row.measured->whole_context(), *row.gpu);
  const LearnedTime t = learned_time(model, row.input, standing);
  outcome.forecast = t.median;
  outcome.low = t.low;
  outcome.high = t.high;
  return outcome;
}

}  // namespace tilecast
