// The best deployment by an objective: cost, load, throughput or energy, within an SLO.
//
// Candidates are ways to serve a model: a GPU, an engine, number formats, how the model is spread over ranks, the
// scheduler's limits, and as many replicas as the rate needs; prompts and answers together, or each in a pool of its
// own. Their steady states (serve/steady_state.h) sort them out (serve/plan_candidates.h): those that do not fit, those
// that miss, and of the rest the front of the objective against latency. The best of these are then simulated with
// their intervals (serve/plan_judge.h), and the objective over the chance of meeting the SLO decides: a dollar that
// buys a coin toss is half a dollar's worth.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "cluster/cluster.h"
#include "serve/deployment_features.h"
#include "serve/metrics.h"
#include "serve/plan_requests.h"
#include "serve/steady_state.h"
#include "tilecast/plan.h"

namespace tilecast {

// A kind of GPU to rent.
struct GpuOffer {
  Gpu gpu;
  std::optional<Cluster> cluster;      // none: one GPU a replica
  std::optional<double> usd_per_hour;  // of one; nothing: not known
  int most = 64;                       // GPUs at most
};

struct Formats {
  std::string dtype, kv_dtype;  // as precision_from() takes them
};

// What an engine is asked for beside tokens, and what it has for it. By default nothing.
struct ServeFeatures {
  std::map<EngineKind, FeatureOptions> of_engine;  // adapters, drafts and images; engines without an entry have none
  Speculation speculation;
  double draft_cost = 0;
  OffloadOptions offload = {};
  RankVariants variants = {};
  bool by_priority = false;
  Router router = Router::round_robin;
  PrefixRouting prefixes = {};
  std::optional<Seconds> first_token_timeout = {}, total_timeout = {};
};

struct ServeSetup;

struct ServeQuery {
  ModelSpec model;
  ServingObjective objective = ServingObjective::cost;
  // With a rate where the objective is cost or energy. The number of requests is what simulations take; 0: as many as
  // a steady load needs (serve/plan_run.h).
  WorkloadOptions workload;
  PlanRequests recorded;              // in place of what the workload would draw
  std::vector<RequestClass> classes;  // each with objectives of its own
  ServeFeatures features;
  Slo slo;                               // with one time at least where the objective is cost or load
  Statistic statistic = Statistic::p90;  // of the requests' times, that the objectives are held against
  std::vector<GpuOffer> gpus;
  std::vector<EngineKind> engines;
  std::vector<Formats> formats;         // empty: the checkpoint's, and fp8 where the GPU has it
  std::vector<RankLayout> layouts;      // only these; empty: all that make sense
  double least_chance = 0;              // of meeting the SLO
  std::optional<Routing> routing = {};  // of tokens to experts; none: a power law
  bool pictures = false;
  double budget = 0;                   // dollars an hour at most; 0: none
  bool together = true, apart = true;  // aggregated, disaggregated
  Count context_limit = 0;             // 0: the model's
  // Whether a deployment of it could be started as it is, without a name that nobody knows; none: all could. Of two
  // that are worth nearly the same such a one is preferred.
  std::function<bool(const std::shared_ptr<const ServeSetup>&)> complete = {};
  SteadyLoad load(double rate, Count block_tokens) const;
  // Requests a second, and tokens of an answer.
  double requests_at(double rate) const { return recorded.any() ? rate * recorded.each : rate; }
  Count mean_input() const { return recorded.any() ? recorded.at_one.input.mean : workload.input.mean; }
  Count mean_output() const { return recorded.any() ? recorded.at_one.output.mean : workload.output.mean; }
  bool any_objective() const;
  // What a steady state is held against: where only classes have objectives, the loosest of each.
  Slo steady_slo() const;
  // How far within the objectives, those of classes among them.
  double margin_of(const ServingMetrics& metrics) const;
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
  std::optional<double> usd_per_hour;  // nothing: a price is missing
  double rate = 0;                     // requests a second that it is planned for
  Count in_flight = 0;                 // where requests never run out: so many at a time
  SteadyState steady;
  std::optional<Saturation> most;  // from which rate on queues would grow without end; nothing: not asked yet
  std::optional<ServingMetrics> simulated;
  std::optional<ServingMetrics> fast, slow;  // the ends of the simulation's interval
  std::optional<double> chance;              // of meeting the SLO
  bool meets = false;                        // the SLO, when simulated
  // Where the rate is more than it takes: the most that it does, and what requests see that come alone.
  double takes = 0;
  std::optional<ServingMetrics> alone;
  Seen seen = Seen::no;
  int gpus() const { return pool.gpus() + (prefill ? prefill->gpus() : 0); }
  SimulationOptions simulation(const ServeQuery& query) const;
};

struct ServePlan {
  Count tried = 0;                           // deployments whose steady state was computed
  Count too_large = 0;                       // set-ups whose model does not fit
  Count too_slow = 0;                        // set-ups that miss with however many replicas
  Count too_dear = 0;                        // set-ups of which not one is allowed
  Count unsuited = 0;                        // set-ups that the features asked for do not go with
  std::string does_not_suit;                 // what the last of them lacks
  std::string does_not_fit;                  // what the least demanding of those too large lacks
  std::vector<PlannedDeployment> finalists;  // simulated, best first
  std::vector<std::size_t> front;            // of those that meet: nothing is better by the objective and as fast
  std::optional<std::size_t> best;           // the first that meets with the chance wanted
  BreakingPoint breaks;                      // of the best
  // Where none meets: that which misses by least, and at which rate the SLO can be met.
  std::optional<PlannedDeployment> nearest, attainable;
  std::optional<PlanPictures> pictures;
};

// `progress` hears which share is done and may end it. Refuses queries without a rate, an objective or a GPU.
Result<ServePlan> plan_serving(const ServeQuery& query, Method method, const ModelSource* weights,
                               const Watch& progress = {});

// How far within the objectives: the smallest of 1 - value / objective; negative where one is missed.
double margin(const Slo& slo, Seconds ttft, Seconds tpot, Seconds e2el);
double margin(const Slo& slo, const ServingMetrics& metrics, Statistic statistic);
double margin(const Slo& slo, const SteadyState& state, Statistic statistic, Count output);

// Dollars for a million tokens of answers, so many of them a second.
double usd_per_million(double usd_per_hour, double tokens_per_second);

// How good it is by the objective, the smaller the better; deployments without a price come after those with one. Over
// the chance of meeting the SLO where it was simulated, else by its steady state alone.
struct PlanRank {
  int after = 0;
  double value = 0;
  bool operator==(const PlanRank&) const = default;
  bool operator<(const PlanRank& other) const { return std::tie(after, value) < std::tie(other.after, other.value); }
  bool operator<=(const PlanRank& other) const { return !(other < *this); }
};
PlanRank plan_rank(const ServeQuery& query, const PlannedDeployment& d);

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
  std::string does_not_fit;  // of the last that is too large
  Count unsuited = 0;
  std::string does_not_suit;
};
Result<ServeSetups> serving_setups(const ServeQuery& query, std::size_t offer, Method method,
                                   const ModelSource* weights);
// A set-up's engine as `deploy` takes it.
DeploymentOptions options_of(const ServeQuery& query, const ServeSetup& setup);

}  // namespace tilecast
