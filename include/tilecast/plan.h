// Two questions: which deployment serves a load most cheaply, and how is training best distributed over GPUs?
//
//   auto serve = tilecast::plan_serve({.model = "Llama-3.1-8B", .slo = "ttft=500ms,tpot=30ms", .load = {.rate = 20}});
//   if (serve && serve->best) use(serve->finalists[*serve->best].launch);
//
//   auto train = tilecast::plan_train({.model = "Llama-3.1-70B", .gpus = "64xH100-SXM", .global_batch = 512, .seq =
//   4096}); if (train && !train->ranked.empty()) use(train->ranked.front().layout, train->whole.gpu_hours);
//
// Everything here is a value or a pure function; any number of threads may call any of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tilecast/arguments.h"
#include "tilecast/forecast.h"
#include "tilecast/framework.h"
#include "tilecast/result.h"
#include "tilecast/run.h"
#include "tilecast/serving.h"
#include "tilecast/serving_metrics.h"
#include "tilecast/train.h"
#include "tilecast/units.h"
#include "tilecast/watch.h"

namespace tilecast {

// ---- Serving

// What makes one deployment better than another.
enum class ServingObjective : std::uint8_t {
  cost,        // dollars per hour, at a rate within the SLO
  load,        // requests per second that the given GPUs serve within the SLO
  throughput,  // output tokens per second and GPU when requests never run out; no SLO
  energy,      // joules per output token, at a rate, within the SLO if there is one
};
inline constexpr std::array<std::string_view, 4> kServingObjectiveNames = {"cost", "load", "throughput", "energy"};
constexpr std::string_view name_of(ServingObjective o) { return kServingObjectiveNames[static_cast<std::size_t>(o)]; }
constexpr const auto& enum_names(ServingObjective) { return kServingObjectiveNames; }

struct PlanServeQuery {
  std::string model;  // a name, a Hugging Face config.json or its folder
  ServingObjective objective = ServingObjective::cost;
  std::string slo;  // "ttft=500ms,tpot=30ms,e2el=10s"; at least one if the objective is cost or load
  Statistic slo_at = Statistic::p90;
  std::optional<double> min_chance;  // least chance of meeting the SLO; none: the forecast must meet it
  LoadQuery load;                    // with a rate if the objective is cost or energy
  double burstiness = 1;             // of arrivals: 1 is Poisson, less is burstier
  std::string trace;                 // a file of requests instead of `load`
  RequestQuery requests;             // conversations, clients, classes, adapters, images
  DraftQuery drafts;
  Router router = Router::round_robin;
  FleetQuery fleet;                  // the router's thresholds, tiers of the cache, copies of experts, shared keys
  std::string routing = {};          // of tokens to experts: uniform, power:1.2 (empty), counts:FILE
  std::vector<std::string> gpus;     // "H100-SXM", "16xB200": at most that many; empty: those with a price
  Count max_gpus = 64;               // of each kind, if `gpus` does not say
  std::optional<double> budget;      // most dollars per hour; none: no limit
  std::optional<double> price;       // per GPU and hour; none: the table's
  std::string prices;                // "H200-SXM=3.1,B200=5", or the caller's own price table
  std::vector<std::string> engines;  // empty: all serving engines
  std::vector<std::string> layouts;  // "1", "tp4", "tp8pp2", "tp8ep8", "dp8ep8"; empty: all that make sense
  std::vector<std::string> dtypes;   // empty: the checkpoint's, and fp8 if the GPU has it
  std::string kv_dtype;              // "auto" or "fp8"; empty: both are tried if `dtypes` is empty
  std::optional<Count> context_limit;
  bool aggregated = false, disaggregated = false;  // only this kind; neither: both are tried
  std::optional<Count> num_prompts;                // per simulation; none: as many as a steady load needs
  Method method = Method::tilecast;
  std::string weights;    // a weight file instead of the shipped one
  bool pictures = false;  // also the data for drawings, which takes more runs
};

// Copies of one layout.
struct ServingPool {
  int tp = 1, pp = 1, ep = 1, attention_dp = 1;
  std::string layout;  // "tp 2"; empty: one GPU
  Count copies = 1;
  int gpus = 1;  // over all copies
  Count max_sequences = 0, max_tokens = 0, chunk = 0;
  bool chunked_prefill = true;
  Count step_tokens = 0;       // the most in a step: SGLang's chunk, otherwise max_tokens
  double memory_fraction = 0;  // as passed to the engine's flag
  Count block_tokens = 0, blocks = 0;
  ServingMemory memory;  // of each of its GPUs
};

// How many plans have their files saved, unless another number is requested.
inline constexpr Count kSavedPlans = 3;

// A file that starts, configures or checks a deployment.
struct LaunchFile {
  std::string name, text;
};

struct PlannedServing {
  std::string gpu;
  int gpus = 1;
  std::optional<double> usd_per_hour;            // absent if no price is known
  std::optional<double> usd_per_million_tokens;  // output tokens, at its rate
  ServingEngine engine = ServingEngine::vllm;
  std::string dtype;
  KvDtype kv_dtype = KvDtype::automatic;
  ServingPool pool;
  std::optional<ServingPool> prefill;  // a separate pool for prompts
  // Steady state, without simulation; times are meaningless where a limit is exceeded.
  Limit limit = Limit::none;
  Seconds steady_ttft, steady_tpot;
  double steady_cache = 0;  // share of the blocks in use
  // Simulated, at this rate or with this many requests always in flight.
  double rate = 0;
  Count in_flight = 0;  // 0: requests arrive at the rate
  std::optional<ServingMetrics> simulated;
  std::optional<ServingMetrics> fast, slow;  // the ends of its 80 % interval
  bool meets = false;                        // meets the SLO in simulation
  double margin = 0;                         // in simulation: the smallest 1 - value / objective
  std::optional<double> chance;              // chance of meeting the SLO, from the interval
  double tokens_per_gpu = 0;                 // output tokens per second
  double tokens_per_user = 0;                // 1 / mean TPOT
  double concurrency = 0;                    // requests in flight, on average
  Seen seen = Seen::no;                      // what forecasts of its kernels rest on
  std::string in_the_way;                    // what it misses, and by how much; empty if it meets the SLO
  std::vector<std::string> to_fill_in;       // what its files lack before they start: "a checkpoint of X in fp8"
  std::string release;                       // whose flags the commands use: "vLLM 0.14.0"
  std::vector<std::string> launch;           // shell commands that start it
  std::vector<LaunchFile> files;             // everything that starts it, configures it and checks the forecast
};

// Data for drawings.
struct ParetoPoint {
  double tokens_per_user = 0, tokens_per_gpu = 0, concurrency = 0;  // from steady states
  std::string what;                                                 // "H100-SXM vllm fp8, tp 2"
  bool front = false;                                               // no other point has more of both
  std::string gpu, layout;                                          // "H100-SXM", "tp 2"; one GPU: "1 GPU"
  bool layout_front = false;                   // no other point on this GPU in this layout has more of both
  double low_per_user = 0, high_per_user = 0;  // 80 % interval of tokens_per_user, on either front
};
struct LoadPoint {
  double rate = 0;
  Seconds ttft, tpot, e2el;                              // in the query's statistic
  Interval ttft_interval, tpot_interval, e2el_interval;  // 80 %
};
struct PlanPictures {
  std::vector<ParetoPoint> pareto;  // one copy of each set-up, at several loads
  std::vector<LoadPoint> loads;     // of the best, simulated
  std::vector<Slice> slices;        // of the best at its own load
};

struct ServingPlan {
  std::string model;
  ServingObjective objective = ServingObjective::cost;
  Slo slo;
  Statistic statistic = Statistic::p90;
  double rate = 0;                        // as requested; 0: none
  Count tried = 0;                        // deployments whose steady state was computed
  Count too_large = 0;                    // set-ups whose model does not fit
  Count too_slow = 0;                     // set-ups that miss the SLO with any number of replicas
  Count too_dear = 0;                     // set-ups too expensive for even one replica
  Count unsuited = 0;                     // set-ups that do not support the requested features
  std::string does_not_suit;              // ... and what the last of them lacks
  std::string format_cause;               // if none meets the SLO: that a card has no tensor cores for the format
  std::string does_not_fit;               // what the least demanding of those that do not fit lacks
  std::vector<std::string> prices;        // whose: "H100-SXM $2.99 an hour (...)"
  std::vector<std::string> notes;         // missing prices, how a trace was cut
  std::vector<RequestClass> classes;      // of requests, with objectives of their own
  bool any_objective() const;             // in the SLO, or in a class
  std::vector<PlannedServing> finalists;  // simulated, best first: by the objective over the chance of meeting the SLO
  std::vector<std::size_t> front;         // of those that meet the SLO: none is better by the objective and as fast
  std::optional<std::size_t> best;        // the first that meets the SLO
  BreakingPoint breaks;                   // of the best
  std::optional<PlannedServing> nearest;  // if none meets the SLO: the one that misses by least at the rate
  std::optional<PlannedServing>
      attainable;  // if none meets the SLO: the one that meets it at the highest rate below the query's
  std::optional<PlanPictures> pictures;
};

// `progress` is told the completed share and may stop the search. Errors name the query's field; a plan in which
// nothing meets the SLO is not an error.
Result<ServingPlan> plan_serve(const PlanServeQuery& query, const Watch& progress = {});

const Question& plan_serve_question();
std::vector<BoundArgument> arguments_of(PlanServeQuery& query);

// ---- Training

enum class TrainingEngine : std::uint8_t {
  pytorch,    // eager
  compile,    // torch.compile
  cudagraph,  // one fused kernel per operator, replayed in a CUDA graph
};
inline constexpr std::array<std::string_view, 3> kTrainingEngineNames = {"pytorch", "compile", "cudagraph"};
constexpr std::string_view name_of(TrainingEngine e) { return kTrainingEngineNames[static_cast<std::size_t>(e)]; }
constexpr const auto& enum_names(TrainingEngine) { return kTrainingEngineNames; }

struct PlanTrainQuery {
  std::string model;  // a name, a Hugging Face config.json or its folder
  std::string gpus;   // how many of which: "64xH100-SXM", or a cluster; with a deadline or a budget also "H100-SXM"
  Count global_batch = 0;                  // sequences per step
  Count seq = 0;                           // tokens per sequence
  std::string dtype;                       // of the products; empty: bf16, or the checkpoint's if not mixed
  std::optional<Framework> framework;      // supplies the defaults (docs/parallel.md)
  std::optional<TrainingEngine> engine;    // empty: the framework's, otherwise cudagraph
  std::optional<AttentionForm> attention;  // empty: the framework's, otherwise fused
  std::optional<MixedPrecision> mixed;     // empty: the framework's, otherwise master
  TrainMethod train = {};                  // narrow products, adapters, pairs
  TrainingOptimizer optimizer = TrainingOptimizer::adamw;
  double tokens = 1e12;         // for the whole training
  std::optional<double> price;  // per GPU and hour; none: the table's
  std::string prices;           // the caller's own price table
  // For the whole training. If `gpus` has no number: the fewest that meet the deadline, or the most within the budget.
  std::optional<double> deadline;  // days
  std::optional<double> budget;    // dollars
  // Failures and recovery; none: what the largest published run saw (docs/parallel.md).
  std::optional<double> gpu_mtbf;             // hours between failures of one GPU; 0: nothing fails
  std::optional<double> restart;              // minutes from a failure to the next useful step
  std::optional<double> storage;              // GB/s at which all GPUs together write a checkpoint
  std::optional<double> checkpoint_interval;  // minutes of work between two; none: the interval that loses least
  bool scaling = false;                       // also on other numbers of GPUs
  Count top = 10;                             // layouts to return
  Method method = Method::tilecast;
  std::string weights;  // a weight file instead of the shipped one
};

struct PlannedTraining {
  int tp = 1, cp = 1, dp = 1, pp = 1, ep = 1;
  int expert_tp = 1;  // ranks that share an expert's width
  bool sequence_parallel = false;
  std::string context, schedule;  // "ring" or "all-gather"; "1f1b" ...
  int chunks = 1;
  std::string sharding;  // "none", "zero1" ...
  int shard_group = 0;   // ranks that together hold one copy; 0: all
  bool overlap = true;
  std::string layout;  // all of it in words: "tp 8, pp 2, dp 4"
  Count micro_batch = 1;
  Recomputation recompute = {};  // as little as makes the layout fit
  Seconds step, bubble, exposed;
  Interval interval;  // of the step, 80 %
  double tokens_per_second = 0;
  double utilisation = 0;  // of the GPUs' dense peak, by the model's own operations
  Bytes memory;            // of the fullest rank
  double days = 0;         // for the whole training, with failures
};

// The whole training with one layout.
struct TrainingRun {
  double steps = 0;
  double days = 0;                     // with checkpoints, failures and restarts; infinite if it never ends
  double low_days = 0, high_days = 0;  // from the step's 80 % interval
  double undisturbed_days = 0;
  double goodput = 1;                 // undisturbed time over total time
  double failures = 0;                // on average
  double hours_between_failures = 0;  // for all GPUs together; 0: nothing fails
  Bytes checkpoint;                   // parameters and the optimizer's states
  Seconds checkpoint_time;            // time to write one
  double checkpoint_minutes = 0;      // work between two; 0: none are taken
  double gpu_hours = 0;
  std::optional<double> usd;             // none: no price is known
  std::optional<double> megawatt_hours;  // the GPUs' alone; none: no card of this vendor was metered
};

// A change that would shorten the training, and by how much.
struct TrainingAdvice {
  std::string what;
  double gain = 0;  // as a share of the time per token
};

// The best layout on another number of GPUs.
struct ScalingPoint {
  int gpus = 0;
  Count global_batch = 0;
  std::string layout;  // empty: nothing fits
  double tokens_per_second = 0, utilisation = 0, days = 0;
  double low_days = 0, high_days = 0;  // from the step's 80 % interval
};

struct TrainingPlanResult {
  std::string model, cluster;
  int gpus = 0, nodes = 1;
  Bytes gpu_memory;                        // per GPU
  Count sequences = 0, seq = 0;            // per step
  std::string item;                        // what a sequence is made of: "token"; otherwise what it is: "image", "clip"
  std::vector<std::string> left_out;       // parts of the model that are not forecast
  Count tried = 0, fit = 0;                // layouts; those whose ranks all fit
  std::vector<PlannedTraining> ranked;     // fastest first, `top` of those that fit
  PlannedTraining smallest;                // of all tried, the one that needs the least memory
  double tokens = 0;                       // for the whole training
  TrainingRun whole;                       // ... with the first
  std::optional<double> usd_per_gpu_hour;  // none: no price is known
  std::string price_source;                // whose price, or that none is known
  std::optional<double> deadline, budget;  // as asked
  std::vector<int> tried_gpus;             // if the number was searched for
  std::vector<TrainingAdvice> advice;      // largest gain first
  std::vector<std::string> notes;          // what was taken for granted of the cluster
  std::vector<ScalingPoint> strong, weak;  // on request: the same global batch, and one that grows with the GPUs
};

// `progress` is told the completed share and may stop the search. Errors name the query's field; a plan in which
// nothing fits is not an error.
Result<TrainingPlanResult> plan_train(const PlanTrainQuery& query, const Watch& progress = {});

const Question& plan_train_question();
std::vector<BoundArgument> arguments_of(PlanTrainQuery& query);

}  // namespace tilecast
