// The cheapest deployment that meets its objectives.
//
// Candidates are ways to serve a model: a GPU, an engine, number formats, how the model is spread over ranks, the
// scheduler's limits, and as many replicas as the rate needs; prompts and answers together, or each in a pool of its
// own. Their steady states (serve/steady_state.h) sort them out: those that do not fit, those that miss, and of the
// rest the front of cost against latency. The front and the cheapest are then simulated, and the simulation decides.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "serve/deployment.h"
#include "serve/metrics.h"
#include "serve/steady_state.h"

namespace tilecast {

// A kind of GPU to rent.
struct GpuOffer {
  Gpu gpu;
  std::optional<Cluster> cluster;  // none: one GPU a replica
  double usd_per_hour = 0;         // of one
  int most = 64;                   // GPUs at most
};

struct Formats {
  std::string dtype, kv_dtype;  // as precision_from() takes them
};

struct ServeQuery {
  ModelSpec model;
  WorkloadOptions workload;              // with a rate; the number of requests is what simulations take
  Slo slo;                               // with one objective at least
  Statistic statistic = Statistic::p90;  // of the requests' times, that the objectives are held against
  std::vector<GpuOffer> gpus;
  std::vector<EngineKind> engines;
  std::vector<Formats> formats;        // empty: the checkpoint's, and fp8 where the GPU has it
  double budget = 0;                   // dollars an hour at most; 0: none
  bool together = true, apart = true;  // aggregated, disaggregated
  Count context_limit = 0;             // 0: the model's
  SteadyLoad load(Count block_tokens) const;
};

// One copy of a layout, set up: what a deployment is made of, however many there are.
struct ServeSetup {
  std::size_t offer = 0;  // of the query's GPUs
  EngineKind engine = EngineKind::vllm;
  Formats formats;
  RankLayout layout;  // more than one data parallel rank: attention only, the experts are shared
  PoolOptions pool;
  CacheBudget budget;
  std::shared_ptr<StepTable> steps;  // pool.cost
};
struct PlannedPool {
  std::shared_ptr<const ServeSetup> setup;
  Count copies = 1;
  int gpus() const { return setup->layout.ranks() * static_cast<int>(copies); }
  PoolOptions pool() const;
};

struct PlannedDeployment {
  PlannedPool pool;
  std::optional<PlannedPool> prefill;
  KvLink link;
  double usd_per_hour = 0;
  SteadyState steady;
  std::optional<ServingMetrics> simulated;
  bool meets = false;  // the objectives, when simulated
  int gpus() const { return pool.gpus() + (prefill ? prefill->gpus() : 0); }
  SimulationOptions simulation(const ServeQuery& query) const;
};

struct ServePlan {
  Count tried = 0;                           // deployments whose steady state was computed
  Count too_large = 0;                       // set-ups whose model does not fit
  Count too_slow = 0;                        // set-ups that miss with however many replicas
  Count too_dear = 0;                        // set-ups of which not one is allowed
  std::vector<PlannedDeployment> finalists;  // simulated, cheapest first
  std::vector<std::size_t> front;            // of those that meet: nothing is cheaper and as fast
  std::optional<std::size_t> best;           // the cheapest that meets
  BreakingPoint breaks;                      // of the best
  std::optional<PlannedDeployment> nearest;  // where none meets: the steady state that misses by least
};

// `progress` hears how much of how much is done. Refuses queries without a rate, an objective or a GPU.
Result<ServePlan> plan_serving(const ServeQuery& query, Method method, const ModelSource* weights,
                               const std::function<void(double done)>& progress = {});

// How far within the objectives: the smallest of 1 - value / objective; negative where one is missed.
double margin(const Slo& slo, Seconds ttft, Seconds tpot, Seconds e2el);
double margin(const Slo& slo, const ServingMetrics& metrics, Statistic statistic);
double margin(const Slo& slo, const SteadyState& state, Statistic statistic, Count output);

// Dollars for a million tokens of answers at the query's rate.
double usd_per_million(const ServeQuery& query, double usd_per_hour);

// Ways to spread the model over ranks of a replica: tensor parallelism within a node, pipelines where that is not
// enough or links are slow, experts over the ranks or over data parallel attention.
std::vector<RankLayout> serving_layouts(const ModelSpec& model, const GpuOffer& offer);

bool has_experts(const ModelSpec& model);
// The share of memory that the engine's flag has to name for this budget.
double memory_fraction(EngineKind engine, const CacheBudget& budget);

// Every set-up of one offer. Limits of a scheduler that differ share the times of their steps.
struct ServeSetups {
  std::vector<std::shared_ptr<const ServeSetup>> all;
  Count too_large = 0;
};
Result<ServeSetups> serving_setups(const ServeQuery& query, std::size_t offer, Method method,
                                   const ModelSource* weights);

}  // namespace tilecast
