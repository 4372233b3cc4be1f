// What serving comes to: the figures of `vllm bench serve`, by its names and definitions (vllm/benchmarks/serve.py),
// and the records of requests and steps that they are made from.
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

// Which of several replicas a request goes to.
enum class Router : std::uint8_t { round_robin, least_loaded, power_of_two, prefix_aware };
inline constexpr std::array<std::string_view, 4> kRouterNames = {"round-robin", "least-loaded", "power-of-two",
                                                                 "prefix-aware"};
constexpr std::string_view name_of(Router r) { return kRouterNames[static_cast<std::size_t>(r)]; }
constexpr const auto& enum_names(Router) { return kRouterNames; }

// What an autoscaler looks at: requests in flight, or those of them that wait.
enum class AutoscaleSignal : std::uint8_t { concurrency, queue };
inline constexpr std::array<std::string_view, 2> kAutoscaleSignalNames = {"concurrency", "queue"};
constexpr std::string_view name_of(AutoscaleSignal s) { return kAutoscaleSignalNames[static_cast<std::size_t>(s)]; }

// Of the requests' times.
enum class Statistic : std::uint8_t { mean, median, p90, p99 };
inline constexpr std::array<std::string_view, 4> kStatisticNames = {"mean", "median", "p90", "p99"};
constexpr std::string_view name_of(Statistic s) { return kStatisticNames[static_cast<std::size_t>(s)]; }
constexpr const auto& enum_names(Statistic) { return kStatisticNames; }

// What a rate is too much for.
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
  bool cancelled = false;  // its client gave up: `last` is when
  bool unsent = false;     // a turn whose conversation broke off before
  std::int16_t group = 0;  // which of ServingMetrics::classes
  Count given = 0;         // tokens of its answer that came
  Count hits = 0;          // tokens of its prompt that were found in the cache
  int preemptions = 0;
  Seconds sent, scheduled, first, last;  // of the last token
  bool served() const { return !refused && !cancelled && !unsent; }
  Seconds ttft() const { return first - sent; }
  Seconds queued() const { return scheduled - sent; }
  Seconds latency() const { return last - sent; }
  // Time of a token after the first; nothing where there is but one.
  std::optional<Seconds> tpot() const {
    if (output < 2) return std::nullopt;
    return (last - first) / static_cast<double>(output - 1);
  }
};

struct StepRecord {
  Seconds start, end;
  std::int32_t replica = 0;  // of all pools, those for prompts last
  std::int32_t prompt_tokens = 0, decodes = 0, running = 0, waiting = 0;
  float cache = 0;   // share of the blocks in use
  float gpu = 0;     // seconds of it that each of the replica's GPUs computes
  float joules = 0;  // of these together, beside what they draw at rest
  // Of very many steps a record is several that follow each other: counts, `gpu` and `joules` are sums over them,
  // `cache` is their mean.
  std::int32_t steps = 1;
  float ran = 0;  // seconds, of several
  double ran_for() const { return steps > 1 ? static_cast<double>(ran) : (end - start).base(); }
};

// One life of a replica: started, ready for requests, gone.
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
  Seconds replica_seconds;  // of all lives
  Count in_step = 1;        // schedulers of a replica
};

struct ServingOutcome {
  std::vector<RequestRecord> requests;  // as they came in
  std::vector<StepRecord> steps;
  // Seconds between two tokens, of all requests: `gap_count` of them, every one kept, or where they are very many every
  // second, fourth ... of them.
  std::vector<float> gaps;
  Count gap_count = 0;
  std::vector<std::string> refused;  // why, one line a refused request, a few of them
  Count refusals = 0;
  Count cancellations = 0;
  Count replicas = 0;
  Count most_blocks = 0;                  // held at once by one replica of those that decode
  Count unfinished = 0;                   // always 0
  Count blocks_left = 0;                  // held when all was over: 0, or something leaked
  Seconds begin, end;                     // of the first sending, of the last token
  Seconds busy;                           // of all replicas together
  std::optional<Watts> idle = {};         // what all GPUs together draw at rest; nothing where it is not known
  float cache_peak = 0;                   // share of the blocks in use in any step
  double gpus = 0;                        // of all replicas; those of an autoscaled pool in the mean over the run
  std::optional<FleetRecord> fleet = {};  // where replicas were started and stopped
  // Tokens whose keys came from the host and from a disk, and went there.
  std::array<Count, 2> loaded = {}, stored = {};
};

struct Summary {
  double mean = 0, median = 0, p90 = 0, p99 = 0;  // seconds
};
Seconds statistic_of(const Summary& summary, Statistic statistic);

// Requests of one kind: interactive ones, batch jobs.
struct RequestClass {
  std::string name;
  double share = 1;  // of the requests, over that of all classes
  int priority = 0;  // less is served first, where the scheduler looks at it
  Slo slo;
  std::string input = {}, output = {};  // lengths of its own ("64", "uniform:1024:0.5"); empty: those of all requests
  bool guided = false;                  // a grammar guides its answers: the host makes a mask for every token
};

struct ClassMetrics {
  std::string name;
  Count completed = 0, refused = 0, cancelled = 0, unsent = 0;
  std::optional<double> goodput;  // by its own objectives
  Summary ttft, tpot, e2el;
};

struct ServingMetrics {
  Count completed = 0, refused = 0;
  Count cancelled = 0;      // by clients that had waited long enough
  Count unsent = 0;         // turns of conversations that broke off
  Count wasted_tokens = 0;  // of answers that were cancelled
  double duration = 0;      // seconds
  Count input_tokens = 0, output_tokens = 0;
  double request_throughput = 0, output_throughput = 0, total_throughput = 0;
  std::optional<double> goodput;     // requests a second that met every objective given
  std::optional<Count> missed = {};  // requests that did not, where objectives are given
  double gpu_hours = 0;              // that the GPUs were held for
  Summary ttft, tpot, itl, e2el, queue;
  Count preemptions = 0;
  double hit_rate = 0;    // of prompt tokens, found in the cache
  double cache_mean = 0;  // share of the blocks in use while steps ran, by time
  double cache_peak = 0;
  double gpu_busy = 0;    // share of the run in which a GPU computes
  double mean_batch = 0;  // requests in a step
  Count steps = 0;
  Count peak_tokens = 0;  // in flight at once
  // Of all GPUs over the whole run, by a model of their power; nothing where that is not known.
  struct Energy {
    double joules = 0;
    double watts = 0;                 // mean
    std::optional<double> per_token;  // joules of an output token
  };
  std::optional<Energy> energy;
  std::vector<ClassMetrics> classes;  // where requests have some
};

// The run in equal slices of time: for plots and timelines.
struct Slice {
  double time = 0;  // its middle, seconds
  double cache = 0, busy = 0, running = 0, waiting = 0;
  double replicas = 0;               // that take requests, where an autoscaler starts and stops them
  std::optional<double> watts = {};  // of all GPUs
};
std::vector<Slice> over_time(const ServingOutcome& outcome, int slices);

// What gives way first where more requests come.
struct BreakingPoint {
  double rate = 0;            // the lowest that was seen to miss an objective; 0: none was
  std::string objective;      // "TTFT"
  bool cache_full = false;    // as it missed it
  double saturation = 0;      // from here on queues grow without end, by the steady state
  Limit limit = Limit::none;  // ... for want of this
};

}  // namespace tilecast
