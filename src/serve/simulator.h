// Requests through a deployment, step by step: a discrete-event simulation.
//
// A pool is some replicas of one engine behind a router. Requests enter when they arrive, or when one of `concurrency`
// before them has ended; a front end tokenises them one at a time; a replica's scheduler plans its steps; a step takes
// what its kernels take on the GPU and what the host adds. With a pool for prompts of their own (disaggregated), keys
// and values travel over a link to the pool that decodes.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "serve/autoscale.h"
#include "serve/pool.h"
#include "serve/workload.h"
#include "tilecast/serving_metrics.h"
#include "tilecast/watch.h"

namespace tilecast {

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
  // The simulation ends when so many requests, the first that are sent, have ended; others are not told of. 0: all of
  // them. Not with conversations.
  Count needed = 0;
  bool keep_gaps = true;               // the times between tokens, which are most of what a run remembers
  const SharedPaths* paths = nullptr;  // of requests that have one; outlives the simulation

  const PoolOptions& front() const { return prefill ? *prefill : pool; }  // the pool that requests enter
  // Servers that tokenise: one for each replica, one for those that step together.
  double front_ends() const {
    const Count most = autoscale ? autoscale->most * front().in_step : front().replicas;
    return static_cast<double>(std::max<Count>(1, most / front().in_step));
  }
};

// `progress` is called now and then with the share of requests that ended, and may end the simulation.
Result<ServingOutcome> simulate(const std::vector<Request>& requests, const SimulationOptions& options,
                                const Watch& progress = {});

}  // namespace tilecast
