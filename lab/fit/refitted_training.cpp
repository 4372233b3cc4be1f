#include "lab/fit/refitted_training.h"

#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "gpu/registry.h"
#include "measure/planned_rows.h"

namespace tilecast {
namespace {

// The rows of one card, planned under other constants.
struct TunedCardRows {
  Gpu gpu;
  std::vector<Measurement> rows;
  std::vector<std::size_t> places;  // of the rows among those given
  std::vector<PlannedRow> planned = {};
};
using TunedCards = std::map<std::string, TunedCardRows, std::less<>>;

TunedCards planned_cards(std::span<const Measurement* const> rows,
                         const std::shared_ptr<const TunedConstants>& constants, int threads) {
  TunedCards cards;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Gpu* gpu = built_in_gpu(rows[i]->gpu);
    if (!gpu) continue;
    TunedCardRows& card = cards.try_emplace(gpu->name, TunedCardRows{*gpu, {}, {}}).first->second;
    card.rows.push_back(*rows[i]);
    card.places.push_back(i);
  }
  for (auto& [name, card] : cards) {
    card.gpu.constants = constants;
    card.planned = plan_rows_on(card.gpu, card.rows, threads);
  }
  return cards;
}

std::map<std::string, std::vector<const PlannedRow*>> by_model(const TunedCards& cards) {
  std::map<std::string, std::vector<const PlannedRow*>> groups;
  for (const auto& [name, card] : cards)
    for (const PlannedRow& row : card.planned)
      if (!row.analytic.failed) groups[model_key(row.measured->kernel)].push_back(&row);
  return groups;
}

}  // namespace

std::vector<double> learned_errors_under(std::span<const Measurement* const> judged,
                                         std::span<const Measurement* const> others, const TunedConstants& constants,
                                         const TrainOptions& options) {
  const auto shared = std::make_shared<const TunedConstants>(constants);
  const int threads = options.general.threads;
  const TunedCards left = planned_cards(judged, shared, threads), rest = planned_cards(others, shared, threads);
  std::set<std::string> keys, architectures;
  for (const auto& [name, card] : left) {
    architectures.insert(architecture_key(card.gpu));
    for (const PlannedRow& row : card.planned) keys.insert(model_key(row.measured->kernel));
  }
  TrainOptions train = options;
  train.cards = train.intervals = false;  // neither seen cards nor widths are asked for
  train.architectures.assign(architectures.begin(), architectures.end());
  std::map<std::string, FamilyModel> models;
  for (const auto& [key, rows] : by_model(rest))
    if (keys.contains(key)) models[key] = train_family(rows, train);
  std::vector<double> errors(judged.size(), -1);
  for (const auto& [name, card] : left)
    for (std::size_t i = 0; i < card.planned.size(); ++i) {
      const PlannedRow& row = card.planned[i];
      if (row.analytic.failed) continue;
      const auto model = models.find(model_key(row.measured->kernel));
      const Outcome outcome = model == models.end() ? row.analytic : learned_outcome(model->second, row);
      errors[card.places[i]] = std::abs(outcome.forecast / row.measured->latency - 1);
    }
  return errors;
}

}  // namespace tilecast
