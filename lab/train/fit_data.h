// Measured rows as the forests see them: which rows take part, their features, and what remains to be explained.
#pragma once

#include <span>
#include <vector>

#include "lab/train/boost.h"
#include "measure/planned_rows.h"

namespace tilecast {

using FitRows = std::vector<const PlannedRow*>;

// Rows whose shapes' hashes fall into the first `share`, or those beyond; another seed gives an independent choice.
FitRows by_hash(std::span<const PlannedRow* const> rows, double share, std::uint64_t seed, bool inside = true);
// About `most` rows, by the hash of their shapes.
FitRows at_most(std::span<const PlannedRow* const> rows, std::size_t most, std::uint64_t seed);

// GPU name -> rows.
std::map<std::string, Count> cards_of(std::span<const PlannedRow* const> rows);
// A table's `source` -> rows.
std::map<std::string, Count> sources_of(std::span<const PlannedRow* const> rows);
// Weights of rows in what unseen cards are forecast by: less for those of another protocol than most (our eager PyTorch
// sweep among an engine's graphs, say).
std::vector<float> protocol_weights(std::span<const PlannedRow* const> rows);
// Architectures of rows, with a card of each.
std::map<std::string, const Gpu*> architectures_of(std::span<const PlannedRow* const> rows);

// Features and targets, log(measured / base), as a forest that may or may not know cards sees them.
enum class Knows : std::uint8_t { no_card, cards };
BoostData data_of(const FamilyModel& model, std::span<const PlannedRow* const> rows, Knows knows);

// What a forest's forecasts leave unexplained.
BoostData leftovers(BoostData data, const Forest& forest);

void append(BoostData& all, const BoostData& more);

// The forest for unseen cards like this one: other vendors' rows left out, siblings' rows weighted.
Forest sibling_forest(const FamilyModel& model, std::span<const PlannedRow* const> rows, const Gpu& like,
                      const BoostOptions& options);
// Of several architectures with one way to feed the tensor pipe, for cards of yet another such.
Forest kin_forest(const FamilyModel& model, std::span<const PlannedRow* const> rows, const Gpu& like,
                  const BoostOptions& options);
// The same for cards without a seen sibling.
Forest general_forest(const FamilyModel& model, std::span<const PlannedRow* const> rows, const BoostOptions& options);

}  // namespace tilecast
