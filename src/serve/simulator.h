// Requests through a deployment, step by step: a discrete-event simulation.
//
// A pool is some replicas of one engine behind a router. Requests enter when they arrive, or when one of `concurrency`
// before them has ended; a front end tokenises them one at a time; a replica's scheduler plans its steps; a step takes
// what its kernels take on the GPU and what the host adds. With a pool for prompts of their own (disaggregated), keys
// and values travel over a link to the pool that decodes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "serve/autoscale.h"
#include "serve/host.h"
#include "serve/request_features.h"
#include "serve/scheduler.h"
#include "serve/step_cost.h"
#include "serve/workload.h"
#include "tilecast/serving_metrics.h"

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

// Between the pools of a disaggregated deployment; one transfer at a time from each prefill replica.
struct KvLink {
  BytesPerSecond bandwidth;
  Seconds latency;
};

struct SimulationOptions {
  PoolOptions pool;                    // serves, or decodes where there is another for prompts
  std::optional<PoolOptions> prefill;  // disaggregated
  KvLink link;
  Router router = Router::round_robin;
  PrefixRouting prefixes = {};                     // of the prefix-aware one
  std::optional<AutoscaleOptions> autoscale = {};  // of the pool, whose `replicas` are there at first
  // Requests in flight at most, as `vllm bench serve --max-concurrency`; 0: no limit. A conversation is in flight from
  // its first turn to the end of its last.
  Count concurrency = 0;
  Count context_limit = 0;  // tokens of prompt and answer together; 0: none but the cache's
  // Clients give up a request whose first token, or whose last, has not come in that time; nothing: they wait.
  std::optional<Seconds> first_token_timeout = {}, total_timeout = {};
  const SharedPaths* paths = nullptr;  // of requests that have one; outlives the simulation
};

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

// `progress` is called now and then with the share of requests that ended.
Result<ServingOutcome> simulate(const std::vector<Request>& requests, const SimulationOptions& options,
                                const std::function<void(double)>& progress = {});

}  // namespace tilecast
