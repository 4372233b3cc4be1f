// A question: what do clients measure when an engine serves a model's requests?
//
//   auto answer = tilecast::simulate({.model = "Llama-3.1-8B", .gpu = "H100-SXM", .load = {.rate = 10}});
//   if (answer) use(answer->loads.front().metrics.ttft.p99);
//
// Requests are drawn from distributions (the same seed gives the same ones) or read from a trace, and go through the
// engine's scheduler step by step. Everything here is a value or a pure function; any number of threads may call any of
// it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tilecast/arguments.h"
#include "tilecast/forecast.h"
#include "tilecast/result.h"
#include "tilecast/serving_metrics.h"
#include "tilecast/units.h"

namespace tilecast {

// Engines that serve.
enum class ServingEngine : std::uint8_t { vllm, sglang, trtllm };
inline constexpr std::array<std::string_view, 3> kServingEngineNames = {"vllm", "sglang", "trtllm"};
constexpr std::string_view name_of(ServingEngine e) { return kServingEngineNames[static_cast<std::size_t>(e)]; }
constexpr const auto& enum_names(ServingEngine) { return kServingEngineNames; }

// Who runs in the next step.
enum class ServingPolicy : std::uint8_t {
  own,              // the engine's own scheduler
  fixed_batches,    // batches that start and end together
  max_utilization,  // TensorRT-LLM's other capacity policy
};
inline constexpr std::array<std::string_view, 3> kServingPolicyNames = {"own", "static", "max-utilization"};
constexpr std::string_view name_of(ServingPolicy p) { return kServingPolicyNames[static_cast<std::size_t>(p)]; }
constexpr const auto& enum_names(ServingPolicy) { return kServingPolicyNames; }

// Number format of the cache of keys and values.
enum class KvDtype : std::uint8_t { automatic, fp8 };
inline constexpr std::array<std::string_view, 2> kKvDtypeNames = {"auto", "fp8"};
constexpr std::string_view name_of(KvDtype d) { return kKvDtypeNames[static_cast<std::size_t>(d)]; }
constexpr const auto& enum_names(KvDtype) { return kKvDtypeNames; }

// What is asked of a deployment.
struct LoadQuery {
  std::optional<double> rate;  // requests a second; none: all at once
  std::string input = "1024";  // tokens of a prompt: "1024", "uniform:1024:0.5" or "lognormal:1024:0.8"
  std::string output = "256";  // tokens of an answer, likewise
  Count prefixes = 0;          // different beginnings that prompts share; 0: none
  Count prefix_tokens = 0;     // ... and their length
  Count seed = 0;
};

struct SimulateQuery {
  std::string model;  // a name, a Hugging Face config.json or its folder
  // One replica, and how many there are.
  std::string gpu;      // a name or a description file; empty: the cluster's
  std::string cluster;  // that the ranks of a replica lie in; empty: the one known of this GPU
  ServingEngine engine = ServingEngine::vllm;
  std::string dtype;  // empty: the checkpoint's
  KvDtype kv_dtype = KvDtype::automatic;
  std::string routing = {};  // of tokens to experts: uniform, power:1.2 (empty), counts:FILE
  Count tp = 1, pp = 1, ep = 1;
  Count attention_dp = 1;  // data parallel ranks of one replica that share the experts
  Count dp = 1;            // replicas behind a router
  Router router = Router::round_robin;
  // What is asked.
  LoadQuery load;
  Count num_prompts = 1000;
  double burstiness = 1;             // 1 is Poisson, less is burstier
  std::optional<Count> concurrency;  // requests in flight at most; none: no limit
  std::string trace;                 // a file of requests in place of `load`
  std::string sweep;                 // several loads: "rate=1..32" (doubling), "rate=1,2,5", "concurrency=1..256"
  std::string slo;                   // objectives for goodput: "ttft=500ms,tpot=30ms,e2el=10s"
  // The engine's own settings; none: its defaults.
  std::optional<double> memory_fraction;
  std::optional<Count> max_sequences, max_tokens, chunk, block_tokens, context_limit;
  std::optional<Count> receive_steps;  // SGLang: steps of answers between two looks for new requests
  std::optional<Count> most_captured;  // the largest batch that a graph is captured for
  bool mixed_chunk = false;            // SGLang: answers run in the prompts' steps
  bool no_prefix_caching = false, no_chunked_prefill = false, chunked_prefill = false, no_overlap = false;
  ServingPolicy policy = ServingPolicy::own;
  Count draft = 0;  // draft tokens a step; 0: no speculation
  double acceptance = 0.7, draft_cost = 0.05;
  // Disaggregated: replicas for prompts alone; `dp` decode.
  Count prefill_replicas = 0;
  std::optional<Count> prefill_tp;  // none: as `tp`
  double link_gb_per_s = 50, link_us = 20;
  bool no_interval = false;  // leave out the intervals, which take two more runs
  Method method = Method::tilecast;
  std::string weights;  // a weight file in place of the shipped ones
};

// How the engine divides a card's memory; every figure of one GPU.
struct ServingMemory {
  Bytes visible;  // of the card, to a program
  Bytes usable;   // the share the engine may fill
  Bytes weights;
  Bytes activations;  // at the peak of its profile run
  Bytes other;        // the driver's and libraries' own
  Bytes cache;        // what is left for keys and values
};

// One load and what came of it.
struct SimulatedLoad {
  std::string name;  // "rate 4"
  double value = 0;  // of the sweep
  ServingMetrics metrics;
  std::optional<ServingMetrics> fast, slow;  // with all steps at the ends of their 80 % interval
  Count most_at_once = 0;                    // requests of the mean length that one replica holds
  ServingOutcome outcome;                    // every request and step; empty in a sweep
};

struct SimulationResult {
  std::string model, gpu;
  ServingEngine engine = ServingEngine::vllm;
  std::string policy;  // of the scheduler: "vllm", "trtllm-max-utilization"
  std::string dtype;
  int tp = 1, pp = 1, ep = 1, attention_dp = 1;
  std::string layout;  // "tp 2, ep 2"; empty: one GPU a replica
  Count replicas = 1;  // schedulers: copies times attention_dp
  Count prefill_replicas = 0;
  Count max_sequences = 0, max_tokens = 0;
  Count step_tokens = 0;  // of a step at most: SGLang's chunk, else max_tokens
  Count block_tokens = 0, blocks = 0;
  ServingMemory memory;
  Slo slo;
  std::vector<std::string> notes;
  std::vector<SimulatedLoad> loads;
};

// `progress` hears which share is done. Errors name the query's field.
Result<SimulationResult> simulate(const SimulateQuery& query, const std::function<void(double share)>& progress = {});

const Question& simulate_question();
std::vector<BoundArgument> arguments_of(SimulateQuery& query);

}  // namespace tilecast
