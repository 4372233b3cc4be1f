// Trains NeuSight's predictors as its paper does: one network per operator, SMAPE, AdamW, four fifths of the rows, the
// epoch with the best error on the last fifth.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "estimate/neusight.h"
#include "measure/measurement.h"

namespace tilecast {

struct NeusightTrainOptions {
  int epochs = 100;
  std::size_t width = 512;  // of each of the seven hidden layers
  Count most_rows = 20000;  // of one predictor, by hash of the shape; zero: all, as in the paper (hours here)
  std::uint64_t seed = 0;
  int threads = 2;
};

// The tile a row ran with: what the profiler saw, or, where nobody looked, our plan's (not NeuSight's rule: its rows
// all have one). Nothing where there is neither.
std::optional<NeusightTile> neusight_tile(const Measurement& row, const NeusightCall& call, const Gpu& gpu);

// Whether NeuSight's filter keeps a row: pointwise kernels above 8192 x 512, LayerNorm and softmax above 4096 x 512.
bool neusight_trains_on(const NeusightCall& call);

NeusightWeights train_neusight(const std::vector<Measurement>& rows, std::span<const std::size_t> chosen,
                               const NeusightTrainOptions& options,
                               const std::function<void(double share, std::string_view what)>& progress);

}  // namespace tilecast
