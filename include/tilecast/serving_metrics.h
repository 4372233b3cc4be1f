// The outcome of serving: the figures of `vllm bench serve`, with its names and definitions (vllm/benchmarks/serve.py),
// and the records of requests and steps that they are computed from.
//
//   TTFT   first token - sending             ITL    between two tokens' arrivals, all requests' together
//   TPOT   (latency - TTFT) / (output - 1)   E2EL   last token - sending
//   throughputs over the whole run, from the first sending to the last token
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tilecast/units.h"

namespace tilecast {

// How a request is assigned to one of several replicas.
enum class Router : std::uint8_t { round_robin, least_loaded, power_of_two, prefix_aware };
inline constexpr std::array<std::string_view, 4> kRouterNames = {"round-robin", "least-loaded", "power-of-two",
                                                                 "prefix-aware"};
constexpr std::string_view name_of(Router r) { return kRouterNames[static_cast<std::size_t>(r)]; }
constexpr const auto& enum_names(Router) { return kRouterNames; }

// What an autoscaler looks at: requests in flight, or only those waiting.
enum class AutoscaleSignal : std::uint8_t { concurrency, queue };
inline constexpr std::array<std::string_view, 2> kAutoscaleSignalNames = {"concurrency", "queue"};
constexpr std::string_view name_of(AutoscaleSignal s) { return kAutoscaleSignalNames[static_cast<std::size_t>(s)]; }

// Statistics over the requests' times.
enum class Statistic : std::uint8_t { mean, median, p90, p99 };
inline constexpr std::array<std::string_view, 4> kStatisticNames = {"mean", "median", "p90", "p99"};
constexpr std::string_view name_of(Statistic s) { return kStatisticNames[static_cast<std::size_t>(s)]; }
constexpr const auto& enum_names(Statistic) { return kStatisticNames; }

// What a rate overloads.
enum class Limit : std::uint8_t { none, throughput, cache, sequences, front_end, link, length };
inline constexpr std::array<std::string_view, 7> kLimitNames = {
    "none", "throughput", "KV capacity", "sequence limit", "front end", "KV transfer", "length of a request"};
constexpr std::string_view name_of(Limit l) { return kLimitNames[static_cast<std::size_t>(l)]; }

// Objectives.
struct Slo {
  std::optional<Seconds> ttft, tpot, e2el;
  bool any() const { return ttft || tpot || e2el; }
};

struct RequestRecord {
  Count input = 0, output = 0;
  bool refused = false;
  bool cancelled = false;  // its client gave up, at `last`
  bool unsent = false;     // a turn whose conversation was broken off earlier
  std::int16_t group = 0;  // index into ServingMetrics::classes
  Count given = 0;         // tokens of its answer that were delivered
  Count hits = 0;          // tokens of its prompt found in the cache
  int preemptions = 0;
  Seconds sent, scheduled, first, last;  // of the last token
  bool served() const { return !refused && !cancelled && !unsent; }
  Seconds ttft() const { return first - sent; }
  Seconds queued() const { return scheduled - sent; }
  Seconds latency() const { return last - sent; }
  // Time per token after the first; absent if there is only one.
  std::optional<Seconds> tpot() const {
    if (output < 2) return std::nullopt;
    return (last - first) / static_cast<double>(output - 1);
  }
};

struct StepRecord {
  Seconds start, end;
  std::int32_t replica = 0;  // over all pools, those for prompts last
  std::int32_t prompt_tokens = 0, decodes = 0, running = 0, waiting = 0;
  float cache = 0;   // share of the blocks in use
  float gpu = 0;     // seconds in which each of the replica's GPUs computes
  float joules = 0;  // of these GPUs together, beyond their idle draw
  // For very many steps, a record covers several consecutive ones: counts, `gpu` and `joules` are sums over them,
  // `cache` is their mean.
  std::int32_t steps = 1;
  float ran = 0;  // seconds, for several steps
  double ran_for() const { return steps > 1 ? static_cast<double>(ran) : (end - start).base(); }
};

// One lifetime of a replica: started, ready for requests, gone.
struct ReplicaLife {
  Count replica = 0;
  Seconds from, ready, to;
};
struct FleetChange {
  Seconds time;
  Count on = 0, starting = 0, draining = 0;  // replicas from then on
  Count wanted = 0;
  bool same(const FleetChange& o) const {
    return on == o.on && starting == o.starting && draining == o.draining && wanted == o.wanted;
  }
};
// What an autoscaler did.
struct FleetRecord {
  std::vector<FleetChange> changes;
  std::vector<ReplicaLife> lives;
  Seconds replica_seconds;  // over all lifetimes
  Count in_step = 1;        // schedulers per replica
};

struct ServingOutcome {
  std::vector<RequestRecord> requests;  // in order of arrival
  std::vector<StepRecord> steps;
  // Seconds between two tokens, over all requests: `gap_count` of them. Every one is kept or, if there are very many,
  // every second, fourth ... one.
  std::vector<float> gaps;
  Count gap_count = 0;
  std::vector<std::string> refused;  // the reasons, one line per rejected request, a few of them
  Count refusals = 0;
  Count cancellations = 0;
  Count replicas = 0;
  Count most_blocks = 0;                  // held at once by one decoding replica
  Count unfinished = 0;                   // always 0
  Count blocks_left = 0;                  // held at the end: 0, or something leaked
  Seconds begin, end;                     // the first request sent, the last token
  Seconds busy;                           // over all replicas
  std::optional<Watts> idle = {};         // what all GPUs together draw when idle; absent if unknown
  float cache_peak = 0;                   // largest share of the blocks in use in any step
  double gpus = 0;                        // over all replicas; for an autoscaled pool, the mean over the run
  std::optional<FleetRecord> fleet = {};  // if replicas were started and stopped
  // Tokens whose keys were loaded from the host and from a disk, and stored there.
  std::array<Count, 2> loaded = {}, stored = {};
};

struct Summary {
  double mean = 0, median = 0, p90 = 0, p99 = 0;  // seconds
};
Seconds statistic_of(const Summary& summary, Statistic statistic);

// One class of requests, such as interactive ones or batch jobs.
struct RequestClass {
  std::string name;
  double share = 1;  // of the requests, relative to the sum over all classes
  int priority = 0;  // lower is served first, if the scheduler considers it
  Slo slo;
  std::string input = {}, output = {};  // its own lengths ("64", "uniform:1024:0.5"); empty: those of all requests
  bool guided = false;                  // a grammar constrains its answers: the host computes a mask for every token
};

struct ClassMetrics {
  std::string name;
  Count completed = 0, refused = 0, cancelled = 0, unsent = 0;
  std::optional<double> goodput;  // against its own objectives
  Summary ttft, tpot, e2el;
};

struct ServingMetrics {
  Count completed = 0, refused = 0;
  Count cancelled = 0;      // by clients that gave up waiting
  Count unsent = 0;         // turns of conversations that were broken off
  Count wasted_tokens = 0;  // tokens of cancelled answers
  double duration = 0;      // seconds
  Count input_tokens = 0, output_tokens = 0;
  double request_throughput = 0, output_throughput = 0, total_throughput = 0;
  std::optional<double> goodput;     // requests per second that met every given objective
  std::optional<Count> missed = {};  // requests that did not, if objectives are given
  double gpu_hours = 0;              // for which GPUs were held
  Summary ttft, tpot, itl, e2el, queue;
  Count preemptions = 0;
  double hit_rate = 0;    // share of prompt tokens found in the cache
  double cache_mean = 0;  // time-weighted share of the blocks in use while steps ran
  double cache_peak = 0;
  double gpu_busy = 0;    // share of the run in which a GPU computes
  double mean_batch = 0;  // requests per step
  Count steps = 0;
  Count peak_tokens = 0;  // in flight at once
  // For all GPUs over the whole run, by a model of their power; absent if unknown.
  struct Energy {
    double joules = 0;
    double watts = 0;                 // mean
    std::optional<double> per_token;  // joules per output token
  };
  std::optional<Energy> energy;
  std::vector<ClassMetrics> classes;  // if requests have classes
};

// The run in equal slices of time, for plots and timelines.
struct Slice {
  double time = 0;  // its middle, seconds
  double cache = 0, busy = 0, running = 0, waiting = 0;
  double replicas = 0;               // replicas taking requests, if an autoscaler starts and stops them
  std::optional<double> watts = {};  // of all GPUs
};
std::vector<Slice> over_time(const ServingOutcome& outcome, int slices);

// What fails first as the load grows.
struct BreakingPoint {
  double rate = 0;            // the lowest rate seen to miss an objective; 0: none
  std::string objective;      // "TTFT"
  bool cache_full = false;    // when it missed the objective
  double saturation = 0;      // the rate from which queues grow without end, by the steady state
  Limit limit = Limit::none;  // ... because of this limit
};

}  // namespace tilecast
