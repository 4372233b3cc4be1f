// A model's step on many GPUs: one rank's kernels, what it exchanges, and how the ranks wait for each other.
#pragma once

#include <array>
#include <vector>

#include "cluster/cluster.h"
#include "engine/run.h"
#include "parallel/exchange.h"
#include "parallel/layout.h"
#include "parallel/pipeline.h"
#include "parallel/stages.h"

namespace tilecast {

struct ParallelRun {
  Run run;  // the workload is the whole step's: a global batch, or the requests of all replicas
  RankLayout layout;
  Count micro_batch = 0;  // training: sequences that a rank works on at a time; 0: all it has
};

// Micro-batches that a data parallel group works through in a step, and one of them. Refuses batches that do not
// divide, with the nearest that do.
struct Batches {
  Count micro_batches = 1;
  Workload each;
};
Result<Batches> batches_of(const ParallelRun& run);

// The ranks of one pipeline stage.
struct StageForecast {
  Count layers = 0;
  Seconds forward, backward;  // of a micro-batch, all chunks together, with what is exchanged meanwhile
  MemoryNeed memory;          // of each rank
  Bytes usable;               // ... and what it may fill
  Count cache_tokens = 0;     // whose keys and values it has room for; 0: none, or it depends on the requests
  Seconds update;             // the optimizer's kernels
};

// How much of an axis' exchanges there is in a step on the busiest rank, and how much of it nothing hides.
struct AxisTime {
  Seconds total, exposed;
};

struct ParallelForecast {
  Seconds step;
  Interval interval;
  Interval parts;  // ... of what kernels, host and exchanges leave open alone
  Seconds bound;   // of the busiest rank's kernels; no run is faster
  // The step of the busiest rank in parts; they sum to it.
  Seconds compute;    // kernels, and the host where it is slower than they
  Seconds bubble;     // waiting for other stages
  Seconds optimizer;  // the update, and what stands between steps
  std::array<AxisTime, kAxisNames.size()> axes;
  Seconds exposed() const;

  Count micro_batches = 1;
  double tokens_per_second = 0;  // of all GPUs
  double utilisation = 0;        // model FLOPs (recomputation not counted) over time and dense peak of all GPUs
  std::vector<StageForecast> stages;
  std::size_t busiest = 0;  // of `stages`
  Bytes usable;             // of the rank that may fill least
  bool fits() const;
  bool host_bound = false;
  double seen_share = 0;  // of compute, by kernels whose card was measured
  bool seen() const { return seen_share > 0.5; }

  Program program;       // a rank's kernels as if it had all layers
  ProgramForecast rank;  // ... priced
  std::vector<Exchange> exchanges;
  std::vector<CollectiveForecast> exchange_times;  // one for each of `exchanges`
  std::vector<Seconds> step_exposed;  // of those that come once in a step, the last of `exchanges`: what nothing hides
  std::vector<SectionCost> sections;  // of the rank's graph (parallel/split.h)
  Pipeline pipeline;                  // what simulate() (parallel/pipeline.h) draws
};

// What every collective of tensor parallel ranks waits for each of them, as a cluster was seen to: hosts that are late
// while messages between stages cross nodes, and messages that are where the ranks themselves do.
struct LateRanks {
  Seconds between_stages, across_nodes;
  Seconds message;  // a rank stands still for, at each message to or from another stage
};

// What forecasts are made with.
struct StepPricing {
  Method method = Method::tilecast;
  const ModelSource* weights = nullptr;
  const CommConstants* links = nullptr;
  std::string links_of = std::string(kPlainSource);  // whose measurements of collectives are meant
  LateRanks late = {};
};

Result<ParallelForecast> forecast_parallel(const ParallelRun& run, const Cluster& cluster, const StepPricing& with);

}  // namespace tilecast
