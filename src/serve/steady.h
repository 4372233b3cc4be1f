// A deployment's steady state without simulating it: what the middle of a long run looks like at a rate.
//
// In one mean step of length T a replica that gets r requests a second of I and O tokens takes in r T prompts and gives
// r O T tokens, one to each running request. So T is the time of a step with r O T decodes and r T prompts: a fixed
// point, found by iteration from below. Where it runs away, or needs more sequences, tokens or blocks than there are,
// the rate is too high.
#pragma once

#include <string_view>

#include "serve/simulator.h"

namespace tilecast {

// What a replica is asked for.
struct ReplicaLoad {
  double rate = 0;  // requests a second
  Count input = 0, output = 0;
};

// What gives way first as the rate grows.
enum class Limit : std::uint8_t { none, time, tokens, sequences, cache };
constexpr std::string_view name_of(Limit l) {
  constexpr std::string_view kNames[] = {"nothing", "the GPU's time", "tokens of a step", "running sequences",
                                         "the cache"};
  return kNames[static_cast<std::size_t>(l)];
}

struct SteadyState {
  Limit limit = Limit::none;  // other than none: no steady state
  Seconds ttft, tpot;
  double running = 0;     // requests in a step
  double time_share = 0;  // of the highest rate that has a steady state
  double cache_share = 0, sequence_share = 0;
  bool stable() const { return limit == Limit::none; }
  // The scarcest of the shares, and its name.
  Limit scarcest() const;
};

// Prompts and answers on the same replicas.
SteadyState steady_state(const PoolOptions& pool, const ReplicaLoad& demand);
// Prompts alone (`tpot` is zero), and answers alone, of a disaggregated deployment.
SteadyState steady_prefill(const PoolOptions& pool, const ReplicaLoad& demand);
SteadyState steady_decode(const PoolOptions& pool, const ReplicaLoad& demand);

}  // namespace tilecast
