// Trains SynPerf's networks as its artifact does: one per kernel category, 256-128-64, mean relative error of the
// efficiency.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "estimate/synperf.h"
#include "measure/measurement.h"

namespace tilecast {

struct SynperfTrainOptions {
  int epochs = 2500;        // at most; training stops after 85 without a better validation
  Count most_rows = 20000;  // of one category, by hash of the shape; zero: all
  std::uint64_t seed = 42;
  int threads = 2;
};

SynperfWeights train_synperf(const std::vector<Measurement>& rows, std::span<const std::size_t> chosen,
                             const SynperfTrainOptions& options,
                             const std::function<void(double share, std::string_view what)>& progress);

}  // namespace tilecast
