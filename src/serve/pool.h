// Replicas of one engine as their flags and GPUs make them: limits, cache, and what a step takes.
#pragma once

#include <optional>

#include "serve/host.h"
#include "serve/request_features.h"
#include "serve/scheduler.h"
#include "serve/step_cost.h"
#include "tilecast/result.h"
#include "tilecast/units.h"

namespace tilecast {

struct PoolOptions {
  SchedulerLimits limits;
  HostTimes host;
  const StepCost* cost = nullptr;  // outlives the simulation
  Count launches = 0;              // operators of a step, where no graph holds them
  KvGeometry geometry;
  Count blocks = 0;   // of one replica
  bool reuse = true;  // prefixes are cached
  KvOffload offload = {};  // tiers below the cache
  Count replicas = 1;
  Count in_step = 1;               // replicas that step together, the slowest setting the pace (experts shared by them)
  Count stages = 1;                // of a pipeline: as many steps at a time, each of other requests
  double stage_share = 1;          // of a step's time that the longest stage is busy with it
  Seconds cold_start;              // what a replica's first step takes longer
  double draft_cost = 0;           // time of making one draft token, as a share of the step that checks it
  Count gpus = 1;                  // of a replica
  Count abreast = 1;               // of these, GPUs that share a step; others take it over in turn (pipelines)
  RequestFeatures features = {};   // what adapters, drafts and images add to a step
  std::optional<Watts> idle = {};  // what one of them draws at rest; nothing: not known, and no account of energy
};

// Requests of so many tokens that a replica holds at once: its cache's, and no more than run at a time.
Count most_at_once(const PoolOptions& pool, Count tokens);
// Refuses pools that could run nothing; `name` is theirs in errors.
Status check(const PoolOptions& pool, const char* name);

// A step's time, and the energy of one of its GPUs: its kernels, padded to a captured graph (`batch` says by how much),
// and what the host adds.
struct StepSpent {
  Seconds time, gpu;  // all, and the kernels' part
  double joules = 0;
};
StepSpent step_spent(StepBatch& batch, const PoolOptions& pool, bool from_idle);
inline Seconds step_time(StepBatch& batch, const PoolOptions& pool, bool from_idle) {
  return step_spent(batch, pool, from_idle).time;
}

}  // namespace tilecast
