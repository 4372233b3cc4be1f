// Tilecast's own learned method, compared with the papers': trained on the rows it is given and no others.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "lab/evaluate/protocols.h"

namespace tilecast {

// Trains a model for every family and format among the rows named by `train`; unlike train_all, held-out shapes are
// used too, because a protocol says itself which rows are judged. Rows with a trap (trap_of) are skipped.
Weights train_tilecast_weights(const std::vector<Measurement>& rows, std::span<const std::size_t> train,
                               const TrainOptions& options, const Progress& progress);
// ... as a forecaster of single kernels.
std::unique_ptr<Forecaster> train_tilecast(const std::vector<Measurement>& rows, std::span<const std::size_t> train,
                                           const TrainOptions& options, const Progress& progress);

Contender tilecast_contender(const TrainOptions& options);

}  // namespace tilecast
