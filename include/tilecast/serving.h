// A question: what do clients measure when an engine serves a model's requests?
//
//   auto answer = tilecast::simulate({.model = "Llama-3.1-8B", .gpu = "H100-SXM", .load = {.rate = 10}});
//   if (answer) use(answer->loads.front().metrics.ttft.p99);
//
// Requests are drawn from distributions (the same seed gives the same requests) or read from a trace, and go through
// the engine's scheduler step by step. Everything here is a value or a pure function; any number of threads may call
// any of it.
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
#include "tilecast/watch.h"

namespace tilecast {

// Engines that serve.
enum class ServingEngine : std::uint8_t { vllm, sglang, trtllm };
inline constexpr std::array<std::string_view, 3> kServingEngineNames = {"vllm", "sglang", "trtllm"};
constexpr std::string_view name_of(ServingEngine e) { return kServingEngineNames[static_cast<std::size_t>(e)]; }
constexpr const auto& enum_names(ServingEngine) { return kServingEngineNames; }

// What runs in the next step.
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

// Where the draft tokens that a step verifies come from.
enum class DraftMethod : std::uint8_t {
  share,  // anywhere: each takes a given share of a step's time
  ngram,  // the host looks them up in the request's own text
  model,  // a smaller model
  eagle,  // a dense layer on the model's hidden states
  mtp,    // a layer of the model's own kind: multi-token prediction
};
inline constexpr std::array<std::string_view, 5> kDraftMethodNames = {"share", "ngram", "draft", "eagle", "mtp"};
constexpr std::string_view name_of(DraftMethod m) { return kDraftMethodNames[static_cast<std::size_t>(m)]; }
constexpr const auto& enum_names(DraftMethod) { return kDraftMethodNames; }

// Which waiting request is next.
enum class SchedulingPolicy : std::uint8_t { fcfs, priority };
inline constexpr std::array<std::string_view, 2> kSchedulingPolicyNames = {"fcfs", "priority"};
constexpr std::string_view name_of(SchedulingPolicy p) { return kSchedulingPolicyNames[static_cast<std::size_t>(p)]; }
constexpr const auto& enum_names(SchedulingPolicy) { return kSchedulingPolicyNames; }

// What carries keys and values between pools: a given link, or the cluster's.
enum class KvLinkKind : std::uint8_t { given, nvlink, network };
inline constexpr std::array<std::string_view, 3> kKvLinkKindNames = {"given", "nvlink", "network"};
constexpr std::string_view name_of(KvLinkKind k) { return kKvLinkKindNames[static_cast<std::size_t>(k)]; }
constexpr const auto& enum_names(KvLinkKind) { return kKvLinkKindNames; }

// Which keys and values below the GPU are loaded: those that arrive sooner than computed, or all.
enum class OffloadLoad : std::uint8_t { cheaper, always };
inline constexpr std::array<std::string_view, 2> kOffloadLoadNames = {"cheaper", "always"};
constexpr std::string_view name_of(OffloadLoad l) { return kOffloadLoadNames[static_cast<std::size_t>(l)]; }
constexpr const auto& enum_names(OffloadLoad) { return kOffloadLoadNames; }

// Replicas, how requests are distributed among them, and where keys and values are kept.
struct FleetQuery {
  // The prefix-aware router's (SGLang's cache_threshold, balance_abs_threshold, balance_rel_threshold).
  double cache_threshold = 0.3;
  Count balance_abs = 64;
  double balance_rel = 1.5;
  std::string autoscale;  // "target=32,min=1,max=8"; empty: a fixed number of replicas
  // Tiers below the GPU's cache: GB per GPU, GB/s.
  double offload_host = 0, offload_disk = 0;
  std::optional<double> offload_rate, offload_disk_rate;  // none: the GPU's link to its host; an assumed disk
  OffloadLoad offload_load = OffloadLoad::cheaper;
  // Layouts.
  Count redundant_experts = 0;  // additional copies of experts
  Count decode_cp = 1;          // tensor parallel ranks that share the keys of a sequence while it decodes
  std::optional<Count> prefill_pp, prefill_ep, prefill_attention_dp;  // none: as in the decode pool
  KvLinkKind link = KvLinkKind::given;
};

// The load on a deployment.
struct LoadQuery {
  std::optional<double> rate;  // requests per second; none: all at once
  std::string input = "1024";  // tokens of a prompt: "1024", "uniform:1024:0.5" or "lognormal:1024:0.8"
  std::string output = "256";  // tokens of an answer, likewise
  Count prefixes = 0;          // distinct prefixes that prompts share; 0: none
  Count prefix_tokens = 0;     // ... and their length
  Count seed = 0;
};

// Properties of requests besides their tokens.
struct RequestQuery {
  // Conversations: each prompt is the first turn of one.
  std::string turns;               // how many, as a length: "4", "uniform:4:0.5"; empty: single requests
  std::string turn_input = "128";  // tokens that a later turn adds
  std::string think_time = "10s";  // mean time from an answer to the next turn
  double tool_share = 0;           // share of later turns that are tool results ...
  std::string tool_time = "2s";    // ... and the mean time a tool takes
  // Clients.
  std::string first_token_timeout, timeout;  // "10s"; empty: they wait
  std::optional<Count> most_output;          // max_tokens
  std::string classes;                       // "chat:share=0.8,priority=0,ttft=500ms;batch:share=0.2,priority=1"
  SchedulingPolicy scheduling = SchedulingPolicy::fcfs;
  // LoRA.
  Count adapters = 0;  // distinct ones; 0: none
  Count adapter_rank = 16;
  std::optional<Count> max_loras, max_lora_rank;  // none: the engine's default
  // Images and sound.
  Count images = 0;                      // in every first prompt
  std::string image_size = "1024x1024";  // pixels
  double audio_s = 0;                    // seconds of sound in every first prompt
};

// Speculative decoding.
struct DraftQuery {
  Count draft = 0;  // draft tokens per step; 0: no speculation
  double acceptance = 0.7, draft_cost = 0.05;
  std::vector<double> acceptance_at = {};  // for the first, the second ... draft token; empty: `acceptance` for all
  DraftMethod method = DraftMethod::share;
  std::string model;  // a name or a config.json, if a model drafts
};

struct SimulateQuery {
  std::string model;  // a name, a Hugging Face config.json or its folder
  // One replica, and how many there are.
  std::string gpu;      // a name or a description file; empty: the cluster's
  std::string cluster;  // contains the ranks of a replica; empty: the known one with this GPU
  ServingEngine engine = ServingEngine::vllm;
  std::string dtype;  // empty: the checkpoint's
  KvDtype kv_dtype = KvDtype::automatic;
  std::string routing = {};  // of tokens to experts: uniform, power:1.2 (empty), counts:FILE
  Count tp = 1, pp = 1, ep = 1;
  Count attention_dp = 1;  // data parallel ranks of one replica that share the experts
  Count dp = 1;            // replicas behind a router
  Router router = Router::round_robin;
  // The load.
  LoadQuery load;
  Count num_prompts = 1000;
  double burstiness = 1;             // 1 is Poisson, less is burstier
  std::optional<Count> concurrency;  // most requests in flight; none: no limit
  std::string trace;                 // a file of requests instead of `load`
  std::string sweep;                 // several loads: "rate=1..32*2" (doubling), "rate=1,2,5"
  std::string slo;                   // objectives for goodput: "ttft=500ms,tpot=30ms,e2el=10s"
  // The engine's own settings; none: its defaults.
  std::optional<double> memory_fraction;
  std::optional<Count> max_sequences, max_tokens, chunk, block_tokens, context_limit;
  std::optional<Count> receive_steps;  // SGLang: decode steps between two checks for new requests
  std::optional<Count> most_captured;  // the largest batch for which a graph is captured
  bool mixed_chunk = false;            // SGLang: decodes run in the prompts' steps
  bool no_prefix_caching = false, no_chunked_prefill = false, chunked_prefill = false, no_overlap = false;
  ServingPolicy policy = ServingPolicy::own;
  DraftQuery drafts;
  RequestQuery requests;
  // Disaggregated: replicas for prompts only; `dp` replicas decode.
  Count prefill_replicas = 0;
  std::optional<Count> prefill_tp;  // none: as `tp`
  double link_gb_per_s = 50, link_us = 20;
  FleetQuery fleet;
  bool no_interval = false;  // leave out the intervals, which take two more runs
  Count list_steps = 0;      // steps to list one by one, for a single load
  double list_from = 0;      // ... from this second of the run
  Method method = Method::tilecast;
  std::string weights;  // a weight file instead of the shipped one
};

// How the engine divides a card's memory; all figures are per GPU.
struct ServingMemory {
  Bytes visible;  // visible to a program
  Bytes usable;   // the part the engine may fill
  Bytes weights;
  Bytes activations;  // at the peak of its profile run
  Bytes other;        // used by the driver and libraries
  Bytes cache;        // what is left for keys and values
};

// The ends of a step's 80 % interval, divided by its forecast.
struct StepReach {
  double low = 1, high = 1;
};
inline constexpr int kLoadSlices = 50;  // of a load over time

// One load and its outcome.
struct SimulatedLoad {
  std::string name;  // "rate 4"
  double value = 0;  // of the sweep
  ServingMetrics metrics;
  std::optional<ServingMetrics> fast, slow;   // with all steps at the ends of their 80 % interval
  std::optional<StepReach> answers, prompts;  // for steps that only decode, and for those with prompts
  // The run over time with all steps at those ends, over the forecast run's seconds; empty in a sweep.
  std::vector<Slice> fast_over_time, slow_over_time;
  Count most_at_once = 0;               // requests of mean length that fit in one replica
  ServingOutcome outcome;               // every request and step; empty in a sweep
  std::optional<ServingMetrics> fixed;  // with an autoscaler: the same with `fixed_replicas` throughout
  Count fixed_replicas = 0;
};

struct SimulationResult {
  std::string model, gpu;
  ServingEngine engine = ServingEngine::vllm;
  std::string policy;  // of the scheduler: "vllm", "trtllm-max-utilization"
  std::string dtype;
  int tp = 1, pp = 1, ep = 1, attention_dp = 1;
  std::string layout;  // "tp 2, ep 2"; empty: one GPU per replica
  Count replicas = 1;  // schedulers: copies times attention_dp
  Count prefill_replicas = 0;
  Count max_sequences = 0, max_tokens = 0;
  Count step_tokens = 0;  // the most in a step: SGLang's chunk, otherwise max_tokens
  Count block_tokens = 0, blocks = 0;
  ServingMemory memory;
  Slo slo;
  Count media_tokens = 0;  // per image or clip in a prompt
  std::vector<std::string> notes;
  Count list_steps = 0;  // as asked
  double list_from = 0;
  std::vector<SimulatedLoad> loads;
};

// `progress` is told the completed share and may stop the run. Errors name the query's field.
Result<SimulationResult> simulate(const SimulateQuery& query, const Watch& progress = {});

const Question& simulate_question();
std::vector<BoundArgument> arguments_of(SimulateQuery& query);

}  // namespace tilecast
