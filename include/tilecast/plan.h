// Two questions: which deployment serves a load most cheaply, and how is a training step best spread over GPUs?
//
//   auto serve = tilecast::plan_serve({.model = "Llama-3.1-8B", .slo = "ttft=500ms,tpot=30ms", .load = {.rate = 20}});
//   if (serve && serve->best) use(serve->finalists[*serve->best].launch);
//
//   auto train = tilecast::plan_train({.model = "Llama-3.1-70B", .gpus = "64xH100-SXM", .global_batch = 512, .seq =
//   4096}); if (train && !train->ranked.empty()) use(train->ranked.front().layout, train->gpu_hours);
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
  cost,        // dollars an hour, at a rate within the SLO
  load,        // requests a second that the GPUs given serve within the SLO
  throughput,  // output tokens a second and GPU where requests never run out; no SLO
  energy,      // joules of an output token, at a rate, within the SLO where there is one
};
inline constexpr std::array<std::string_view, 4> kServingObjectiveNames = {"cost", "load", "throughput", "energy"};
constexpr std::string_view name_of(ServingObjective o) { return kServingObjectiveNames[static_cast<std::size_t>(o)]; }
constexpr const auto& enum_names(ServingObjective) { return kServingObjectiveNames; }

struct PlanServeQuery {
  std::string model;  // a name, a Hugging Face config.json or its folder
  ServingObjective objective = ServingObjective::cost;
  std::string slo;  // "ttft=500ms,tpot=30ms,e2el=10s"; one at least where the objective is cost or load
  Statistic slo_at = Statistic::p90;
  std::optional<double> min_chance;  // of meeting the SLO, that a plan must have; none: a forecast that meets it
  LoadQuery load;                    // with a rate where the objective is cost or energy
  double burstiness = 1;             // of arrivals: 1 is Poisson, less is burstier
  std::string trace;                 // a file of requests in place of `load`
  RequestQuery requests;             // conversations, clients, classes, adapters, images
  DraftQuery drafts;
  Router router = Router::round_robin;
  FleetQuery fleet;                  // the router's thresholds, tiers of the cache, copies of experts, shared keys
  std::string routing = {};          // of tokens to experts: uniform, power:1.2 (empty), counts:FILE
  std::vector<std::string> gpus;     // "H100-SXM", "16xB200": at most so many; empty: those with a price
  Count max_gpus = 64;               // of each kind, where `gpus` does not say
  std::optional<double> budget;      // dollars an hour at most; none: no limit
  std::optional<double> price;       // of a GPU and hour; none: the table's
  std::string prices;                // "H200-SXM=3.1,B200=5", or a price table of one's own
  std::vector<std::string> engines;  // empty: all that serve
  std::vector<std::string> layouts;  // "1", "tp4", "tp8pp2", "tp8ep8", "dp8ep8"; empty: all that make sense
  std::vector<std::string> dtypes;   // empty: the checkpoint's, and fp8 where the GPU has it
  std::string kv_dtype;              // "auto" or "fp8"; empty: both are tried where `dtypes` is empty
  std::optional<Count> context_limit;
  bool aggregated = false, disaggregated = false;  // only those; neither: both are tried
  std::optional<Count> num_prompts;                // of each simulation; none: 30 seconds' worth, 300 to 3000
  Method method = Method::tilecast;
  std::string weights;    // a weight file in place of the shipped ones
  bool pictures = false;  // also what drawings are made of, which takes more runs
};

// Copies of one layout.
struct ServingPool {
  int tp = 1, pp = 1, ep = 1, attention_dp = 1;
  std::string layout;  // "tp 2"; empty: one GPU
  Count copies = 1;
  int gpus = 1;  // of all copies
  Count max_sequences = 0, max_tokens = 0, chunk = 0;
  bool chunked_prefill = true;
  Count step_tokens = 0;       // of a step at most: SGLang's chunk, else max_tokens
  double memory_fraction = 0;  // as the engine's flag has to name it
  Count block_tokens = 0, blocks = 0;
  ServingMemory memory;  // of each of its GPUs
};

// Plans whose files are saved unless another number is asked for.
inline constexpr Count kSavedPlans = 3;

// A file that starts, configures or checks a deployment.
struct LaunchFile {
  std::string name, text;
};

struct PlannedServing {
  std::string gpu;
  int gpus = 1;
  std::optional<double> usd_per_hour;            // nothing where no price is known
  std::optional<double> usd_per_million_tokens;  // of answers, at its rate
  ServingEngine engine = ServingEngine::vllm;
  std::string dtype;
  KvDtype kv_dtype = KvDtype::automatic;
  ServingPool pool;
  std::optional<ServingPool> prefill;  // prompts have a pool of their own
  // In the long run, without simulating; times mean nothing where a limit is exceeded.
  Limit limit = Limit::none;
  Seconds steady_ttft, steady_tpot;
  double steady_cache = 0;  // share of the blocks in use
  // Simulated, at this rate or with so many requests always in flight.
  double rate = 0;
  Count in_flight = 0;  // 0: requests come at the rate
  std::optional<ServingMetrics> simulated;
  std::optional<ServingMetrics> fast, slow;  // the ends of its 80 % interval
  bool meets = false;                        // the SLO, when simulated
  double margin = 0;                         // when simulated: the smallest of 1 - value / objective
  std::optional<double> chance;              // of meeting the SLO, by the interval
  double tokens_per_gpu = 0;                 // of answers, a second
  double tokens_per_user = 0;                // 1 / mean TPOT
  double concurrency = 0;                    // requests in flight, on average
  Seen seen = Seen::no;                      // how measurements know the kernels of its steps
  std::string in_the_way;                    // what it misses, and by how much; empty where it meets
  std::string release;                       // whose flags the commands use: "vLLM 0.14.0"
  std::vector<std::string> launch;           // lines for a shell that start it
  std::vector<LaunchFile> files;             // all of what starts it, configures it and checks the forecast
};

// What drawings show.
struct ParetoPoint {
  double tokens_per_user = 0, tokens_per_gpu = 0, concurrency = 0;  // by steady states
  std::string what;                                                 // "H100-SXM vllm fp8, tp 2"
  bool front = false;                                               // nothing has more of both
  std::string gpu, layout;                                          // "H100-SXM", "tp 2"; one GPU: "1 GPU"
  bool layout_front = false;                   // nothing on this GPU in this layout has more of both
  double low_per_user = 0, high_per_user = 0;  // 80 % interval of tokens_per_user, on either front
};
struct LoadPoint {
  double rate = 0;
  Seconds ttft, tpot, e2el;                              // the query's statistic of them
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
  double rate = 0;                        // asked for; 0: none
  Count tried = 0;                        // deployments whose steady state was computed
  Count too_large = 0;                    // set-ups whose model does not fit
  Count too_slow = 0;                     // set-ups that miss with however many replicas
  Count too_dear = 0;                     // set-ups of which not one is allowed
  Count unsuited = 0;                     // set-ups that the features asked for do not go with
  std::string does_not_suit;              // ... and what the last of them lacks
  std::string does_not_fit;               // of those that do not fit, what the least demanding one lacks
  std::vector<std::string> prices;        // whose: "H100-SXM $2.99 an hour (...)"
  std::vector<std::string> notes;         // prices that are missing, what a trace was cut to
  std::vector<RequestClass> classes;      // of requests, with objectives of their own
  bool any_objective() const;             // the SLO's, or a class's
  std::vector<PlannedServing> finalists;  // simulated, best first: by the objective over the chance of meeting the SLO
  std::vector<std::size_t> front;         // of those that meet: nothing is better by the objective and as fast
  std::optional<std::size_t> best;        // the first that meets
  BreakingPoint breaks;                   // of the best
  std::optional<PlannedServing> nearest;  // where none meets: that which misses by least at the rate
  std::optional<PlannedServing>
      attainable;  // where none meets: that which meets at the highest rate, below the query's
  std::optional<PlanPictures> pictures;
};

// `progress` hears which share is done and may end it. Errors name the query's field; a plan in which nothing meets is
// no error.
Result<ServingPlan> plan_serve(const PlanServeQuery& query, const Watch& progress = {});

const Question& plan_serve_question();
std::vector<BoundArgument> arguments_of(PlanServeQuery& query);

// ---- Training

enum class TrainingEngine : std::uint8_t {
  pytorch,    // eager
  compile,    // torch.compile
  cudagraph,  // one fused kernel an operator, replayed in a CUDA graph
};
inline constexpr std::array<std::string_view, 3> kTrainingEngineNames = {"pytorch", "compile", "cudagraph"};
constexpr std::string_view name_of(TrainingEngine e) { return kTrainingEngineNames[static_cast<std::size_t>(e)]; }
constexpr const auto& enum_names(TrainingEngine) { return kTrainingEngineNames; }

struct PlanTrainQuery {
  std::string model;  // a name, a Hugging Face config.json or its folder
  std::string gpus;   // how many of which: "64xH100-SXM", or a cluster; with a deadline or a budget also "H100-SXM"
  Count global_batch = 0;                  // sequences of a step
  Count seq = 0;                           // tokens of a sequence
  std::string dtype;                       // of the products; empty: bf16, or the checkpoint's where nothing is mixed
  std::optional<Framework> framework;      // whose defaults hold for what is not given (docs/parallel.md)
  std::optional<TrainingEngine> engine;    // empty: the framework's, else cudagraph
  std::optional<AttentionForm> attention;  // empty: the framework's, else fused
  std::optional<MixedPrecision> mixed;     // empty: the framework's, else master
  TrainMethod train = {};                  // narrow products, adapters, pairs
  TrainingOptimizer optimizer = TrainingOptimizer::adamw;
  double tokens = 1e12;         // of the whole training
  std::optional<double> price;  // of a GPU and hour; none: the table's
  std::string prices;           // a price table of one's own
  // Of the whole training. Where `gpus` has no number: the fewest that meet the deadline, or the most within the
  // budget.
  std::optional<double> deadline;  // days
  std::optional<double> budget;    // dollars
  // Failures and what saves a run from them; none: what the largest published run saw (docs/parallel.md).
  std::optional<double> gpu_mtbf;             // hours between failures of one GPU; 0: nothing fails
  std::optional<double> restart;              // minutes from a failure to the next useful step
  std::optional<double> storage;              // GB/s at which all GPUs together write a checkpoint
  std::optional<double> checkpoint_interval;  // minutes of work between two; none: those that lose least
  bool scaling = false;                       // also how it goes on other numbers of GPUs
  Count top = 10;                             // layouts to return
  Method method = Method::tilecast;
  std::string weights;  // a weight file in place of the shipped ones
};

struct PlannedTraining {
  int tp = 1, cp = 1, dp = 1, pp = 1, ep = 1;
  int expert_tp = 1;  // ranks that share an expert's width
  bool sequence_parallel = false;
  std::string context, schedule;  // "ring" or "all-gather"; "1f1b" ...
  int chunks = 1;
  std::string sharding;  // "none", "zero1" ...
  int shard_group = 0;   // ranks that hold one copy together; 0: all
  bool overlap = true;
  std::string layout;  // all of it in words: "tp 8, pp 2, dp 4"
  Count micro_batch = 1;
  Recomputation recompute = {};  // what is computed again: as little as makes the layout fit
  Seconds step, bubble, exposed;
  Interval interval;  // of the step, 80 %
  double tokens_per_second = 0;
  double utilisation = 0;  // of the GPUs' dense peak, by the model's own operations
  Bytes memory;            // of the fullest rank
  double days = 0;         // of the whole training, with failures
};

// The whole training with one layout.
struct TrainingRun {
  double steps = 0;
  double days = 0;                     // with checkpoints, failures and restarts; infinite where it never ends
  double low_days = 0, high_days = 0;  // by the step's 80 % interval
  double undisturbed_days = 0;
  double goodput = 1;                 // undisturbed over all
  double failures = 0;                // on average
  double hours_between_failures = 0;  // of all GPUs together; 0: nothing fails
  Bytes checkpoint;                   // parameters and the optimizer's states
  Seconds checkpoint_time;            // of writing one
  double checkpoint_minutes = 0;      // of work between two; 0: none are taken
  double gpu_hours = 0;
  std::optional<double> usd;             // none: no price is known
  std::optional<double> megawatt_hours;  // of the GPUs alone; none: no card of the vendor was metered
};

// What would make the training shorter, and by how much.
struct TrainingAdvice {
  std::string what;
  double gain = 0;  // share of the time a token takes
};

// The best layout on another number of GPUs.
struct ScalingPoint {
  int gpus = 0;
  Count global_batch = 0;
  std::string layout;  // empty: nothing fits
  double tokens_per_second = 0, utilisation = 0, days = 0;
  double low_days = 0, high_days = 0;  // by the step's 80 % interval
};

struct TrainingPlanResult {
  std::string model, cluster;
  int gpus = 0, nodes = 1;
  Bytes gpu_memory;                        // of one
  Count sequences = 0, seq = 0;            // of a step
  std::string item;                        // what a sequence is made of: "token"; else what it is: "image", "clip"
  std::vector<std::string> left_out;       // parts of the model that are not forecast
  Count tried = 0, fit = 0;                // layouts; those whose ranks all fit
  std::vector<PlannedTraining> ranked;     // fastest first, `top` of those that fit
  PlannedTraining smallest;                // of all tried, the one that needs least memory
  double tokens = 0;                       // of the whole training
  TrainingRun whole;                       // ... with the first
  std::optional<double> usd_per_gpu_hour;  // none: no price is known
  std::string price_source;                // whose price, or that none is known
  std::optional<double> deadline, budget;  // as asked
  std::vector<int> tried_gpus;             // where their number was looked for
  std::vector<TrainingAdvice> advice;      // largest gain first
  std::vector<ScalingPoint> strong, weak;  // where asked: the same global batch, and one that grows with the GPUs
};

// `progress` hears which share is done and may end it. Errors name the query's field; a plan in which nothing fits is
// no error.
Result<TrainingPlanResult> plan_train(const PlanTrainQuery& query, const Watch& progress = {});

const Question& plan_train_question();
std::vector<BoundArgument> arguments_of(PlanTrainQuery& query);

}  // namespace tilecast
