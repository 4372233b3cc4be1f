// `tilecast simulate MODEL ...`: requests through a serving engine, and what their clients would measure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "serve/deployment.h"
#include "serve/metrics.h"
#include "support/result.h"

namespace tilecast {

// What is asked of a deployment, as `simulate` and `plan serve` take it.
struct LoadOptions {
  double rate = 0;
  std::string input = "1024", output = "256";
  Count prefixes = 0, prefix_tokens = 0;
  Count seed = 0;
};
// Errors name the flag.
Result<WorkloadOptions> workload_from(const LoadOptions& load, Count requests, double burstiness = 1);

struct SimulateOptions : LoadOptions {
  std::string model;
  std::string gpu;  // empty: the cluster's, else H100-SXM
  std::string engine = "vllm";
  std::string dtype, kv_dtype;
  Count tp = 1, pp = 1, ep = 1, dp = 1;
  Count attention_dp = 1;  // data parallel ranks of one replica that share the experts
  std::string cluster;     // that the ranks of a replica lie in; empty: the one known of this GPU
  std::string router = "round-robin";
  // What is asked.
  Count requests = 1000;
  Count concurrency = 0;
  double burstiness = 1;
  std::string trace;
  // The engine's flags.
  double memory_fraction = 0;
  Count max_sequences = 0, max_tokens = 0, chunk = 0, block_tokens = 0, context_limit = 0;
  bool no_prefix_cache = false, no_chunked_prefill = false, chunked_prefill = false, no_overlap = false;
  std::string policy;  // static, or max-utilization (TensorRT-LLM)
  Count draft = 0;
  double acceptance = 0.7, draft_cost = 0.05;
  Count prefill_replicas = 0;  // disaggregated
  Count prefill_tp = 0;        // ranks of each; 0: as the others
  double link_gb_per_s = 50, link_us = 20;
  // How it is shown.
  std::string slo;
  std::string method = "tilecast", weights;
  std::string sweep;
  std::string requests_file, timeline;
  bool no_interval = false, json = false;
};

// One load and what came of it.
struct SimulatedLoad {
  std::string name;  // "rate 4"
  double value = 0;
  ServingOutcome outcome;
  ServingMetrics metrics;
  Count most_at_once = 0;                    // requests of the mean length that one replica holds
  std::optional<ServingMetrics> fast, slow;  // with all steps at the ends of their interval
};
struct SimulatedRun {
  SimulateOptions options;
  DeploymentOptions deployment;
  CacheBudget budget;
  PoolOptions pool;
  Slo slo;
  std::vector<std::string> notes;
  std::vector<SimulatedLoad> loads;
};

Result<SimulatedRun> simulate_loads(const SimulateOptions& options);
Result<std::string> run_simulate(const SimulateOptions& options);

// "rate=1..32" (doubling), "rate=1,2,5", "concurrency=1..256".
struct Sweep {
  bool of_rate = true;
  std::vector<double> values;
};
Result<Sweep> sweep_from(const std::string& text);
// "ttft=500ms,tpot=30ms,e2el=10s".
Result<Slo> slo_from(const std::string& text);

// Views.
std::string simulate_text(const SimulatedRun& run);
std::string simulate_json(const SimulatedRun& run);
std::string requests_csv(const ServingOutcome& outcome);
// Chrome's trace format: steps of each replica, its cache and queue, and the first requests.
std::string timeline_json(const SimulatedRun& run, const ServingOutcome& outcome);

}  // namespace tilecast
