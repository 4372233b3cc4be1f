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
#include "tilecast/result.h"
#include "tilecast/run.h"
#include "tilecast/serving.h"
#include "tilecast/serving_metrics.h"
#include "tilecast/units.h"

namespace tilecast {

// ---- Serving

struct PlanServeQuery {
  std::string model;  // a name, a Hugging Face config.json or its folder
  std::string slo;    // objectives, one at least: "ttft=500ms,tpot=30ms,e2el=10s"
  Statistic slo_at = Statistic::p90;
  LoadQuery load;                    // with a rate
  std::vector<std::string> gpus;     // "H100-SXM", "16xB200": at most so many; empty: those with a price
  Count max_gpus = 64;               // of each kind, where `gpus` does not say
  std::optional<double> budget;      // dollars an hour at most; none: no limit
  std::optional<double> price;       // of a GPU and hour; none: the table's
  std::string prices;                // a price table of one's own
  std::vector<std::string> engines;  // empty: all that serve
  std::vector<std::string> dtypes;   // empty: the checkpoint's, and fp8 where the GPU has it
  std::string kv_dtype;              // "auto" or "fp8"; empty: both are tried where `dtypes` is empty
  std::optional<Count> context_limit;
  bool aggregated = false, disaggregated = false;  // only those; neither: both are tried
  std::optional<Count> num_prompts;                // of each simulation; none: 30 seconds' worth, 300 to 3000
  Method method = Method::tilecast;
  std::string weights;  // a weight file in place of the shipped ones
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
};

struct PlannedServing {
  std::string gpu;
  int gpus = 1;
  double usd_per_hour = 0, usd_per_million_tokens = 0;  // the second of answers, at the query's rate
  ServingEngine engine = ServingEngine::vllm;
  std::string dtype;
  KvDtype kv_dtype = KvDtype::automatic;
  ServingPool pool;
  std::optional<ServingPool> prefill;  // prompts have a pool of their own
  // In the long run, without simulating; times mean nothing where a limit is exceeded.
  Limit limit = Limit::none;
  Seconds steady_ttft, steady_tpot;
  double steady_cache = 0;  // share of the blocks in use
  std::optional<ServingMetrics> simulated;
  bool meets = false;               // the objectives, when simulated
  double margin = 0;                // when simulated: the smallest of 1 - value / objective
  std::string release;              // whose flags the commands use: "vLLM 0.11"
  std::vector<std::string> launch;  // lines for a shell that start it
};

struct ServingPlan {
  std::string model;
  Slo slo;
  Statistic statistic = Statistic::p90;
  double rate = 0;
  Count tried = 0;                        // deployments whose steady state was computed
  Count too_large = 0;                    // set-ups whose model does not fit
  Count too_slow = 0;                     // set-ups that miss with however many replicas
  Count too_dear = 0;                     // set-ups of which not one is allowed
  std::vector<std::string> prices;        // whose: "H100-SXM $2.99 an hour (...)"
  std::vector<PlannedServing> finalists;  // simulated, cheapest first
  std::vector<std::size_t> front;         // of those that meet: nothing is cheaper and as fast
  std::optional<std::size_t> best;        // the cheapest that meets
  BreakingPoint breaks;                   // of the best
  std::optional<PlannedServing> nearest;  // where none meets: the steady state that misses by least
};

// `progress` hears which share is done. Errors name the query's field; a plan in which nothing meets is no error.
Result<ServingPlan> plan_serve(const PlanServeQuery& query, const std::function<void(double share)>& progress = {});

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
  std::string model;       // a name, a Hugging Face config.json or its folder
  std::string gpus;        // how many of which: "64xH100-SXM", or a cluster
  Count global_batch = 0;  // sequences of a step
  Count seq = 0;           // tokens of a sequence
  std::string dtype;       // of the products; empty: bf16, or the checkpoint's where nothing is mixed
  TrainingEngine engine = TrainingEngine::cudagraph;
  AttentionForm attention = AttentionForm::fused;
  MixedPrecision mixed = MixedPrecision::master;
  TrainingOptimizer optimizer = TrainingOptimizer::adamw;
  double tokens = 1e12;         // of the whole training, for its cost
  std::optional<double> price;  // of a GPU and hour; none: the table's
  std::string prices;           // a price table of one's own
  Count top = 10;               // layouts to return
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
  bool recompute = false;  // activations of layers are computed again
  Seconds step, bubble, exposed;
  Interval interval;  // of the step, 80 %
  double tokens_per_second = 0;
  double utilisation = 0;  // of the GPUs' dense peak, by the model's own operations
  Bytes memory;            // of the fullest rank
};

struct TrainingPlanResult {
  std::string model, cluster;
  int gpus = 0, nodes = 1;
  Bytes gpu_memory;                     // of one
  Count sequences = 0, seq = 0;         // of a step
  std::string item;                     // what a sequence is made of: "token"; else what it is: "image", "clip"
  std::vector<std::string> left_out;    // parts of the model that are not forecast
  Count tried = 0, fit = 0;             // layouts; those whose ranks all fit
  std::vector<PlannedTraining> ranked;  // fastest first, `top` of those that fit
  PlannedTraining smallest;             // of all tried, the one that needs least memory
  // Of the whole training with the first.
  double tokens = 0, days = 0, gpu_hours = 0;
  std::optional<double> usd_per_gpu_hour;  // none: no price is known
  double usd = 0;
  std::string price_source;  // whose price, or that none is known
};

// `progress` hears which share is done. Errors name the query's field; a plan in which nothing fits is no error.
Result<TrainingPlanResult> plan_train(const PlanTrainQuery& query,
                                      const std::function<void(double share)>& progress = {});

const Question& plan_train_question();
std::vector<BoundArgument> arguments_of(PlanTrainQuery& query);

}  // namespace tilecast
