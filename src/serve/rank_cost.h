// Steps of a model spread over GPUs: one rank's kernels, and what the ranks send each other.
#pragma once

#include "cluster/cluster.h"
#include "parallel/layout.h"
#include "serve/rank_variants.h"
#include "serve/step_cost.h"

namespace tilecast {

struct RankSpread {
  RankLayout layout;
  Cluster cluster;  // whose GPU ranks are
  RankVariants variants = {};
};

// The workload of a step is one data parallel rank's. Pipeline stages follow each other: a step is their sum, with the
// messages between them.
StepPricer price_over(ModelSpec model, EngineOptions engine, RankSpread spread, Method method,
                      const ModelSource* weights, const KernelSource& experts_kernel = {},
                      std::shared_ptr<KnownCosts> known = nullptr);

// The largest stage's share of the layers, 1 without a pipeline: how long a step keeps a stage from taking the next.
double largest_stage(const ModelSpec& model, const RankLayout& layout);

}  // namespace tilecast
