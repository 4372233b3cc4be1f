// The cheapest deployment that meets its objectives: a search over GPUs, engines, number formats, replicas, prompts on
// replicas of their own, and limits of a step.
//
// Every candidate is first judged by its steady state (serve/steady.h), which takes microseconds; the best are then
// simulated, cheapest first, until enough of them hold.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "serve/deployment.h"
#include "serve/metrics.h"
#include "serve/steady.h"

namespace tilecast {

struct ServingPlanOptions {
  ModelSpec model;
  std::vector<Gpu> gpus;
  std::vector<EngineKind> engines;
  std::vector<std::string> dtypes;  // of weights and products
  std::string kv_dtype;
  WorkloadOptions workload;  // rate, lengths, requests to simulate
  Slo slo;
  double quantile = 0.9;  // share of requests that must meet the objectives
  Count most_gpus = 64;
  std::map<std::string, double> prices;  // of a GPU and hour, by its name; 1 where not given
  double budget = 0;                     // an hour; 0: none
  bool disaggregated = true;             // consider prompts on replicas of their own
  KvLink link{gigabytes_per_second(50), microseconds(20)};
  Count finalists = 6;  // to simulate
};

struct PlanCandidate {
  std::size_t gpu = 0;      // of the options'
  std::size_t setting = 0;  // the search's own
  EngineKind engine = EngineKind::vllm;
  std::string dtype;
  Count max_tokens = 0;
  Count replicas = 0, prefill_replicas = 0;  // the latter 0: aggregated
  double cost = 0;                           // an hour
  SteadyState steady;                        // of the replica whose resources are scarcest
  Seconds ttft, tpot;                        // as the steady state has them
  std::optional<ServingMetrics> simulated;
  double met = 0;      // share of the simulated requests within the objectives
  bool holds = false;  // simulated, and enough of them are
  Count gpus() const { return replicas + prefill_replicas; }
};

struct ServingPlan {
  std::vector<PlanCandidate> front;  // cost against latency: nothing cheaper has a shorter TPOT; by cost
  std::vector<PlanCandidate> tried;  // simulated, by cost
  std::optional<std::size_t> best;   // of `tried`: the cheapest that holds
  Count candidates = 0;              // judged
  std::vector<std::string> notes;    // what does not fit, by name
};

// A rank's profile for a GPU, an engine and a format: the whole model on one GPU unless told otherwise.
using Profiler = std::function<Result<RankProfile>(const DeploymentOptions&)>;
Result<ServingPlan> plan_serving(const ServingPlanOptions& options, const Profiler& profiler);

// How to start one replica with exactly these settings.
std::string launch_command(const PlanCandidate& candidate, const std::string& model, const std::string& kv_dtype);

}  // namespace tilecast
