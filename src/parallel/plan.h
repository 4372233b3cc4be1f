// Every way to train a model on a number of GPUs, ranked.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "parallel/forecast.h"
#include "tilecast/watch.h"

namespace tilecast {

struct TrainingQuery {
  Run run;  // the workload is the global batch
  Cluster cluster;
  int gpus = 8;
  RankLayout choices = {};  // what all layouts share: which exchanges hide behind what
};

struct PlannedLayout {
  ParallelRun run;
  Seconds step, bubble, exposed;
  Interval interval;
  double tokens_per_second = 0, utilisation = 0;
  Bytes memory;                  // of the fullest rank
  std::optional<double> joules;  // of a step, all GPUs
};

struct TrainingPlan {
  std::vector<PlannedLayout> ranked;  // those that fit, fastest first
  Count tried = 0;
  Count too_large = 0;
  PlannedLayout smallest;             // of all, the one that needs least memory; what to say when none fits
  std::vector<PlannedLayout> beyond;  // those that would be faster than the first if they fitted, fastest first
};

// Layouts worth a look: tensor parallelism within a node, pipelines as deep as there are layers, every schedule,
// contexts for long sequences, experts, sharding and micro-batches that divide; without recomputation.
std::vector<ParallelRun> candidate_layouts(const TrainingQuery& query);

// Each of them with as little recomputation as makes it fit: none, the modules that cost little, whole layers.
// `progress` hears which share of the layouts is done, and may end it.
Result<TrainingPlan> plan_training(const TrainingQuery& query, const StepPricing& with, const Watch& progress = {});

// Joules of all GPUs in a step: their kernels', and what they draw while they wait. Nothing where no card of the vendor
// was metered.
std::optional<double> step_joules(const ParallelRun& run, const ParallelForecast& forecast, const Cluster& cluster);

}  // namespace tilecast
