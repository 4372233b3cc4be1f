// Latencies of a deployment at a steady rate of requests, without simulating it.
//
// A replica's steps are a Markov chain: what a step computes of prompts is what came while the one before ran. With D
// answers in every step and prompts coming as a Poisson process behind a round-robin router, the chain of the backlog
// has a stationary distribution, and from it follow a step's mean time and, by Little's law, the prompts' delay. D is
// the fixed point of
//   D = 1 + rate (output - 1) time per token(D)
// (Little's law again; the 1 is the request itself, which sees the others as they are on average). Where there is none
// below what the cache or the limits hold, the rate is too much. simulate() is the judge: steady_state_test holds this
// to it away from saturation.
#pragma once

#include <functional>

#include "serve/simulator.h"
#include "serve/workload.h"

namespace tilecast {

struct SteadyLoad {
  double rate = 0;  // requests a second, over all replicas
  LengthDistribution input, output;
  Count cached = 0;    // tokens of every prompt that the cache has from others
  Count adapters = 0;  // different LoRA adapters of the requests
  double media = 0;    // images or clips of a prompt, on average
  double guided = 0;   // share of the requests that a grammar guides
};

struct SteadyState {
  Limit limit = Limit::none;  // other than none: nothing below means anything
  Seconds ttft, tpot;         // means
  Seconds ttft_wait;          // of ttft, what requests before cause; taken as exponential
  Seconds tpot_spread;        // standard deviation between requests
  double decoding = 0;        // requests that decode at a time, of one replica
  double cache = 0;           // share of the blocks in use, of the replicas that decode
  bool saturated() const { return limit != Limit::none; }
  Seconds ttft_at(Statistic statistic) const;
  Seconds tpot_at(Statistic statistic) const;
};

// Policies other than static batches. The router is taken as round-robin.
SteadyState steady_state(const SimulationOptions& deployment, const SteadyLoad& load);
// Its limit alone, in less time.
Limit steady_limit(const SimulationOptions& deployment, const SteadyLoad& load);

// The rate from which on queues grow without end, within half a percent, and what limits it; `load` says how requests
// come at a rate. Zero: there is none so low.
struct Saturation {
  double rate = 0;
  Limit limit = Limit::none;
};
Saturation saturation_of(const SimulationOptions& deployment, const std::function<SteadyLoad(double)>& load,
                         double near);

// Coefficient of variation: standard deviation over mean.
double variation(const LengthDistribution& lengths);
// Share of requests that wait where `servers` serve `load` of them on average at a time (Erlang's C); 1 at overload.
double erlang_c(Count servers, double load);

}  // namespace tilecast
