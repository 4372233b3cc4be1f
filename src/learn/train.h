// Training of the learned part from measured rows of one family and number format.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "estimate/learned.h"
#include "learn/boost.h"
#include "learn/measurement.h"

namespace tilecast {

struct TrainOptions {
  BoostOptions boost;
  bool intervals = true;  // also train low, high and ceiling
};

// Rows must be of one family and format; `rows` names those to train on.
FamilyModel train_family(const std::vector<Measurement>& all, std::span<const std::size_t> rows,
                         const TrainOptions& options);

// The learned forecast of a row.
LearnedTime forecast_learned(const FamilyModel& model, const Measurement& row, const Gpu& gpu);

}  // namespace tilecast
