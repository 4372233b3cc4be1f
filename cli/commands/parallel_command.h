// `tilecast predict ... --cluster`: a model's step on many GPUs; `tilecast plan train`: all ways to spread it, ranked.
#pragma once

#include <string>
#include <vector>

#include "cli/commands/predict_command.h"
#include "parallel/plan.h"

namespace tilecast {

struct LayoutOptions {
  std::vector<std::string> clusters;
  int tp = 1, pp = 1, dp = 1, ep = 1, cp = 1;
  int expert_tp = 0;
  bool sequence_parallel = false;
  std::string context = "ring";
  std::string sharding = "none";
  int shard_group = 0;
  std::string schedule = "1f1b";
  int chunks = 1;
  std::string stage_layers;  // "13,14,13"
  bool no_overlap = false;
  bool wide_gradients = false;
  Count micro_batch = 0, global_batch = 0;
  std::string chakra;  // a folder for execution traces
  bool asked() const {
    return !clusters.empty() || tp != 1 || pp != 1 || dp != 1 || ep != 1 || cp != 1 || global_batch > 0 ||
           !chakra.empty();
  }
};

struct PlanOptions {
  PredictOptions predict;
  std::string gpus;  // "64xH100"
  Count global_batch = 0;
  double tokens = 1e12;  // of the whole training
  Count top = 10;
  std::string prices;
  double price = 0;  // of a GPU and hour; 0: the table's
};

// One way to run the model on one cluster.
struct ParallelVariant {
  Cluster cluster;
  ParallelRun run;
  ParallelForecast forecast;
  std::optional<Error> refused = {};  // why it cannot run; there is no forecast then
};
Result<std::vector<ParallelVariant>> forecast_parallel_variants(const PredictOptions& options,
                                                                const LayoutOptions& layout);

// What each rank needs of its memory: `tilecast memory ... --tp`.
Result<std::string> run_memory_parallel(const PredictOptions& options, const LayoutOptions& layout);
Result<std::string> run_predict_parallel(const PredictOptions& options, const LayoutOptions& layout);
Result<std::string> run_plan_train(const PlanOptions& options);

// Views.
std::string parallel_memory_table(const std::vector<ParallelVariant>& variants);
std::string parallel_table(const std::vector<ParallelVariant>& variants);
std::string parallel_breakdown(const ParallelVariant& variant);
std::string parallel_json(const std::vector<ParallelVariant>& variants);
// Why nothing was planned.
Error no_plan(const TrainingQuery& query, const TrainingPlan& plan);
std::string plan_table(const TrainingQuery& query, const TrainingPlan& plan, const PlanOptions& options,
                       const TrainingCost& cost, const std::string& price_note);
std::string plan_json(const TrainingQuery& query, const TrainingPlan& plan, const PlanOptions& options,
                      const TrainingCost& cost);

}  // namespace tilecast
