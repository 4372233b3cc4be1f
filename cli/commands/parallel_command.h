// `tilecast predict ... --cluster`: a model's step on many GPUs.
#pragma once

#include <string>
#include <vector>

#include "cli/commands/predict_command.h"
#include "parallel/forecast.h"

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

// Views.
std::string parallel_memory_table(const std::vector<ParallelVariant>& variants);
std::string parallel_table(const std::vector<ParallelVariant>& variants);
std::string parallel_breakdown(const ParallelVariant& variant);
std::string parallel_json(const std::vector<ParallelVariant>& variants);

}  // namespace tilecast
