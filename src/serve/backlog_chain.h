// Steps of an engine as a Markov chain: what a step computes of prompts is what came while the one before ran.
#pragma once

#include <functional>
#include <vector>

#include "tilecast/units.h"

namespace tilecast {

// The backlog of prompts at the start of each step, in pieces of which `each` make a prompt.
struct BacklogChain {
  double rate = 0;                    // prompts a second
  Count replicas = 1;                 // that take turns
  Count each = 1;                     // pieces of a prompt
  Count served = 1;                   // pieces of a step at most
  bool idles = false;                 // without a backlog there is no step until a prompt comes
  std::function<double(Count)> time;  // of a step that computes that many pieces
  // Where the search for the distribution may begin: that of a chain much like this one. Empty: from nothing.
  std::vector<double> near = {};
};
struct ChainResult {
  bool stable = false;
  double step = 0;              // mean time
  double without = 0;           // share of the steps that compute no prompt
  double delay = 0;             // of a prompt, from its coming to the end of the step that ends it
  double between = 0;           // time of the step after the one in which it comes
  std::vector<double> backlog;  // the distribution
  // How steps' times vary together: covariance at a distance of 0, 1, ... steps.
  std::vector<double> covariance;
};

// The chain's stationary distribution and what follows from it. `steps`: over how many of them covariances are wanted.
ChainResult solve(const BacklogChain& chain, Count steps);

}  // namespace tilecast
