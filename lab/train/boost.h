// Training of a Forest by gradient boosting on a quantile (pinball) loss; 0.5 is the median, so the fit minimises
// absolute error. Deterministic for a seed whatever the number of threads: every sum is one thread's, in row order.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "estimate/forest.h"

namespace tilecast {

struct BoostData {
  std::size_t width = 0;        // features a row
  std::vector<float> features;  // row-major
  std::vector<float> targets;
  std::vector<float> weights;  // empty: all one
  std::size_t rows() const { return targets.size(); }
};

struct BoostOptions {
  int trees = 300;
  int depth = 6;
  double rate = 0.08;  // step of each tree
  double quantile = 0.5;
  double row_share = 0.6;    // of rows that choose a tree's questions; leaf values use all
  double feature_share = 1;  // of features a tree may ask about, drawn anew for each
  double least_leaf = 20;    // weight below which a leaf's step is shrunk towards zero
  std::uint64_t seed = 1;
  int threads = 2;
  std::function<void(int done, int all)> progress = {};  // may be empty
};

Forest boost(const BoostData& data, const BoostOptions& options);

}  // namespace tilecast
