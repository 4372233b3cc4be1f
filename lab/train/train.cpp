#include "lab/train/train.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "lab/train/carry.h"
#include "lab/train/fit_terms.h"
#include "lab/train/host_rows.h"
#include "lab/train/spread.h"
#include "support/workers.h"

namespace tilecast {
namespace {

bool contains(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// The physics misses most of what fp32 convolutions cost (the algorithm cuDNN takes, its transforms): small leaves then
// follow single shapes, and more work was forecast to take up to 16 % less time. Of 20, 40 and 100 the last kept the
// law.
constexpr double kConvolutionLeaf = 100;
TrainOptions options_for(std::string_view key, TrainOptions options) {
  if (key.starts_with("conv2d/")) options.general.least_leaf = kConvolutionLeaf;
  return options;
}

// Fewer rows feed fewer trees.
BoostOptions fitting(BoostOptions options, std::size_t rows) {
  options.trees = std::min(options.trees, static_cast<int>(40 + rows / 25));
  return options;
}

// The mean of what a forest's first trees leave over.
double left_by(const Forest& forest, const BoostData& data) {
  const BoostData left = leftovers(data, forest);
  double sum = 0;
  for (const float target : left.targets) sum += std::abs(target);
  return sum / static_cast<double>(std::max<std::size_t>(1, left.rows()));
}

// Trees that together gain less than this on rows they were not grown on are not worth their bytes.
constexpr double kWorthwhile = 0.0007;

Forest trimmed(const Forest& forest, const BoostData& apart) {
  if (apart.rows() == 0) return forest;
  const std::size_t all = forest.trees().size();
  const double whole = left_by(forest, apart);
  for (std::size_t tenths = 1; tenths < 10; ++tenths) {
    Forest part = forest.first(all * tenths / 10);
    if (left_by(part, apart) <= whole + kWorthwhile) return part;
  }
  return forest;
}

// A forest of its own for a card: the rows of others only blur it where there are enough of its own.
Forest card_forest(const FamilyModel& model, const std::string& card, const FitRows& trained, const FitRows& apart,
                   const BoostOptions& options) {
  const auto of_card = [&](const FitRows& rows) {
    FitRows own;
    for (const PlannedRow* row : rows)
      if (row->gpu->name == card) own.push_back(row);
    return own;
  };
  const FitRows own = of_card(trained);
  const Forest forest = boost(data_of(model, own, Knows::cards), fitting(options, own.size()));
  return trimmed(forest, data_of(model, of_card(apart), Knows::cards));
}

// Forests that know nothing of each other, grown side by side: threads that shared the work of one tree would mostly
// wait for each other. They read the model as it was before the first, and are put in place behind the last.
class Grove {
 public:
  using Grow = std::function<Forest(const BoostOptions& alone)>;  // with the options, for one thread
  void add(Forest& place, const BoostOptions& options, Grow grow) {
    plots_.push_back({&place, options, std::move(grow)});
    plots_.back().options.threads = 1;
  }
  void grow(int threads) {
    std::vector<Forest> grown(plots_.size());
    Workers workers(threads);
    workers.each(plots_.size(), [&](std::size_t i) { grown[i] = plots_[i].grow(plots_[i].options); });
    for (std::size_t i = 0; i < plots_.size(); ++i) *plots_[i].place = std::move(grown[i]);
    plots_.clear();
  }

 private:
  struct Plot {
    Forest* place;
    BoostOptions options;
    Grow grow;
  };
  std::vector<Plot> plots_;
};

// Families whose kernels are written for a way to feed the tensor pipe. Products gain nothing from kin (bf16, A100 left
// out: 8.7 to 9.9 %), nor does decoding of latent attention.
bool has_kin(std::string_view key) {
  constexpr std::array<std::string_view, 4> kFamilies = {"attention_prefill", "attention_decode", "mla_prefill", "moe"};
  return std::find(kFamilies.begin(), kFamilies.end(), key.substr(0, key.find('/'))) != kFamilies.end();
}

// Tensor generations that several architectures share, with a card of each.
std::map<std::string, const Gpu*> kin_of(std::span<const PlannedRow* const> rows) {
  std::map<std::string, std::set<std::string>> architectures;
  std::map<std::string, const Gpu*> cards;
  for (const auto& [architecture, card] : architectures_of(rows)) {
    architectures[kin_key(*card)].insert(architecture);
    cards.emplace(kin_key(*card), card);
  }
  std::erase_if(cards, [&](const auto& entry) { return architectures[entry.first].size() < 2; });
  return cards;
}

// Rows that only measure how wide the interval of a seen card must be, and how many trees help it.
double kept_apart(std::size_t rows, const TrainOptions& options) {
  return options.cards && options.intervals && rows >= 400 ? 1.0 / 16 : 0;
}
constexpr std::uint64_t kApart = 11;  // the seed of that choice

// How much of the model cards that nobody measured keep, and how wide their intervals are.
void fit_unseen(FamilyModel& model, const FitRows& trained, const TrainOptions& options) {
  const std::vector<LeftOut> judged = left_out_in_turn(trained, options.general);
  model.carry = fit_carry(judged);
  if (!options.intervals) return;
  UnseenSpreads spreads = unseen_spreads(judged, model.carry, options.general);
  model.sibling_spread = std::move(spreads.siblings);
  model.unseen_spread = std::move(spreads.strangers);
}

}  // namespace

void TrainOptions::set_trees(int trees) {
  card.trees = static_cast<int>(static_cast<double>(card.trees) * trees / general.trees);
  general.trees = trees;
}
void TrainOptions::set_seed(std::uint64_t seed) { general.seed = card.seed = seed; }
void TrainOptions::set_threads(int threads) { general.threads = card.threads = threads; }

FamilyModel train_family(std::span<const PlannedRow* const> measured, const TrainOptions& given) {
  const RowsWithoutHosts without_hosts(measured);
  const std::span<const PlannedRow* const> rows = without_hosts.rows();
  FamilyModel model;
  model.hosts = without_hosts.hosts();
  model.general = model.ceiling = Forest::constant(kFeatureCount, 0);
  model.seen_spread = model.sibling_spread = model.unseen_spread = guessed_spread();
  if (rows.empty()) return model;
  model.key = model_key(rows.front()->measured->kernel);
  const TrainOptions options = options_for(model.key, given);
  model.trained_on = sources_of(rows);
  const double share = kept_apart(rows.size(), options);
  const FitRows apart = by_hash(rows, share, kApart), trained = by_hash(rows, share, kApart, false);
  model.seen = cards_of(trained);
  model.sources = fit_sources(trained);

  const FitRows few = at_most(trained, options.general_rows, 5);
  const BoostData unknown = data_of(model, at_most(apart, options.general_rows / 16, 5), Knows::no_card);
  const auto architectures = architectures_of(few);
  const auto seen_all = [&](const std::vector<std::string>& asked) {
    return std::all_of(asked.begin(), asked.end(), [&](const auto& key) { return architectures.contains(key); });
  };
  const BoostOptions general = fitting(options.general, few.size());
  Grove grove;
  std::map<std::string, Forest, std::less<>> siblings, cards;
  // Where only siblings of certain cards are asked for, the forest for all cards is not needed.
  const bool strangers = options.architectures.empty() || !seen_all(options.architectures);
  if (strangers)
    grove.add(model.general, general,
              [&](const BoostOptions& alone) { return trimmed(general_forest(model, few, alone), unknown); });
  for (const auto& [architecture, card] : architectures)
    if (options.architectures.empty() || contains(options.architectures, architecture))
      grove.add(siblings[architecture], general, [&, card = card](const BoostOptions& alone) {
        return trimmed(sibling_forest(model, few, *card, alone), unknown);
      });
  if (has_kin(model.key) && strangers)
    for (const auto& [kin, card] : kin_of(few))
      grove.add(siblings[kin], general, [&, card = card](const BoostOptions& alone) {
        return trimmed(kin_forest(model, few, *card, alone), unknown);
      });
  if (options.cards)
    for (const auto& [card, count] : model.seen)
      grove.add(cards[card], options.card, [&, &card = card](const BoostOptions& alone) {
        return card_forest(model, card, trained, apart, alone);
      });
  if (options.intervals) {
    BoostOptions ceiling = general;
    ceiling.quantile = 0.2;  // the fastest fifth: SynPerf's P80 of efficiency
    ceiling.trees = std::min(150, ceiling.trees);
    grove.add(model.ceiling, ceiling,
              [&](const BoostOptions& alone) { return boost(data_of(model, few, Knows::no_card), alone); });
  }
  grove.grow(options.general.threads);
  model.siblings = std::move(siblings), model.cards = std::move(cards);
  if (options.cards && !apart.empty()) model.seen_spread = seen_spread(model, apart, options.card);
  fit_unseen(model, trained, options);
  return model;
}

FamilyModel refitted_for_unseen(FamilyModel model, std::span<const PlannedRow* const> measured,
                                const TrainOptions& given) {
  const TrainOptions options = options_for(model.key, given);
  const RowsWithoutHosts without_hosts(measured);
  const std::span<const PlannedRow* const> rows = without_hosts.rows();
  fit_unseen(model, by_hash(rows, kept_apart(rows.size(), options), kApart, false), options);
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
  outcome.shared = t.shared, outcome.own = t.own;
  outcome.footing = standing.footing();
  return outcome;
}

}  // namespace tilecast
