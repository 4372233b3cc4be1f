// From a ranked step to a finished training: time, failures, cost, other numbers of GPUs, what to change.
#pragma once

#include <functional>
#include <vector>

#include "parallel/plan.h"
#include "tilecast/plan.h"

namespace tilecast {

// The whole training with one layout on so many GPUs.
TrainingRun whole_run(const PlanTrainQuery& q, const TrainingQuery& query, const PlannedLayout& layout,
                      std::optional<double> usd_per_gpu_hour);

// Numbers of GPUs worth a try where none is given: whole nodes, 1, 2, 3, 4, 6, 8, 12 ... of them.
std::vector<int> gpu_numbers(int gpus_per_node, int most);

// The query on so many GPUs of its kind; a field's error where there is no such cluster.
Result<TrainingQuery> on_gpus(const TrainingQuery& query, int gpus);

// The best layouts on a quarter, half, twice and four times the GPUs: with the same global batch, and with one that
// grows along.
struct Scaling {
  std::vector<ScalingPoint> strong, weak;
};
Result<Scaling> scaling_of(const PlanTrainQuery& q, const TrainingQuery& query, const StepPricing& with,
                           const Watch& progress);

}  // namespace tilecast
