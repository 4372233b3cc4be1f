// Training of the learned part from measured rows of one family and number format.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "estimate/learned.h"
#include "lab/train/boost.h"
#include "measure/planned_rows.h"

namespace tilecast {

struct TrainOptions {
  // The forest for cards never seen: shallower and slower, so that it keeps to what cards share.
  BoostOptions general{
      .trees = 200, .depth = 7, .rate = 0.12, .row_share = 0.4, .feature_share = 0.5, .least_leaf = 20};
  // The forests of seen cards: as deep as rows allow.
  BoostOptions card{.trees = 700, .depth = 8, .rate = 0.2, .row_share = 0.3, .feature_share = 0.4, .least_leaf = 5};
  bool cards = true;      // grow the forests of seen cards at all
  bool intervals = true;  // and the spreads and the ceiling
  // Architectures (architecture_key, sorted) that get a forest of their own for unseen siblings; empty: all with seen
  // cards.
  std::vector<std::string> architectures = {};
  std::size_t general_rows = 20000;  // rows that suffice for the general forest, by the hash of their shapes

  void set_trees(int trees);  // of the general forest; the others in proportion
  void set_seed(std::uint64_t seed);
  void set_threads(int threads);
};

// Rows must be of one family and format, and have a plan.
FamilyModel train_family(std::span<const PlannedRow* const> rows, const TrainOptions& options);

// The model with its forests as they are; how much of them unmeasured cards keep, and how wide their intervals are,
// is fitted again.
FamilyModel refitted_for_unseen(FamilyModel model, std::span<const PlannedRow* const> rows,
                                const TrainOptions& options);

// The learned outcome of a row: the analytic one with the model's time and interval.
Outcome learned_outcome(const FamilyModel& model, const PlannedRow& row);

}  // namespace tilecast
