// What a client measures: the figures of `vllm bench serve`, by its names and definitions (vllm/benchmarks/serve.py).
//
//   TTFT   first token - sending             ITL    between two tokens' arrivals, all requests' together
//   TPOT   (latency - TTFT) / (output - 1)   E2EL   last token - sending
//   throughputs over the whole run, from the first sending to the last token
#pragma once

#include <optional>
#include <vector>

#include "serve/simulator.h"

namespace tilecast {

struct Summary {
  double mean = 0, median = 0, p90 = 0, p99 = 0;  // seconds
};
// Percentiles interpolate between neighbours, as numpy's do; all zero of nothing.
Summary summary_of(std::vector<float> values);

struct Slo {
  std::optional<Seconds> ttft, tpot, e2el;
  bool any() const { return ttft || tpot || e2el; }
};

bool meets(const RequestRecord& request, const Slo& slo);

struct ServingMetrics {
  Count completed = 0, refused = 0;
  double duration = 0;  // seconds
  Count input_tokens = 0, output_tokens = 0;
  double request_throughput = 0, output_throughput = 0, total_throughput = 0;
  std::optional<double> goodput;  // requests a second that met every objective given
  Summary ttft, tpot, itl, e2el, queue;
  Count preemptions = 0;
  double hit_rate = 0;    // of prompt tokens, found in the cache
  double cache_mean = 0;  // share of the blocks in use while steps ran, by time
  double cache_peak = 0;
  double gpu_busy = 0;    // share of the run in which a GPU computes
  double mean_batch = 0;  // requests in a step
  Count steps = 0;
  Count peak_tokens = 0;  // in flight at once
  // Of all GPUs over the whole run, by the model of estimate/power.h; nothing where their power is not known.
  struct Energy {
    double joules = 0;
    double watts = 0;                 // mean
    std::optional<double> per_token;  // joules of an output token
  };
  std::optional<Energy> energy;
};
// Tokens that admitted requests hold, at their most: each from when it is scheduled with its prompt, growing to its
// last token. A preempted request counts all the while, so that this can be more than the cache holds.
Count peak_tokens(const std::vector<RequestRecord>& requests);
ServingMetrics metrics_of(const ServingOutcome& outcome, const Slo& slo = {});

// The run in equal slices of time: for plots and timelines.
struct Slice {
  double time = 0;  // its middle, seconds
  double cache = 0, busy = 0, running = 0, waiting = 0;
  std::optional<double> watts = {};  // of all GPUs
};
std::vector<Slice> over_time(const ServingOutcome& outcome, int slices);

}  // namespace tilecast
