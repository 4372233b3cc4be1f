// Steps of one deployment as `predict` forecasts them, for whoever asks for thousands that are nearly alike: a simulator
// of somebody else's.
//
// What depends on the numbers of tokens and of requests alone is forecast once for each pair of them and kept. Attention
// is kept by cells: requests that are as many, with about the same mean, spread and longest of their lengths, take the
// time of the first such that was asked for, scaled by their tokens. A cell is so narrow that what the scaling leaves
// is far below the forecast's own error (exact_steps_test).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "cluster/cluster.h"
#include "engine/run.h"
#include "estimate/power.h"
#include "parallel/forecast.h"
#include "serve/step_cost.h"

namespace tilecast {

// Kernels of a step, alike: what they take on a cool card, and what they do there.
struct PricedCalls {
  double cool = 0;  // seconds, all together
  double clock = 1;  // over the highest, on that card
  PowerWork work = {};
  double launches = 0;
  bool by_lengths = false;  // takes as long as the requests' lengths say, beside their number
};

// A whole step as one forecast has it.
struct PricedStep {
  std::vector<PricedCalls> calls;
  Seconds host, between;  // launches back to back; what stands between steps, and whatever no call holds
  Seconds switching;      // of a launch
  Program attention;      // the kernels that follow lengths
};

// Prices whole steps of a deployment: one GPU's, or those of ranks with their exchanges.
struct WholeSteps {
  std::function<Result<PricedStep>(const Workload&)> price;
  std::function<Result<std::vector<PricedCalls>>(const Program&)> kernels;  // ... and some of their kernels alone
  PowerLaw law = {};         // of one GPU; without a limit no clock falls
  bool keyed_prompts = false;  // kernels beside attention follow the prompts' lengths too (latent attention)
};
WholeSteps whole_steps_on(Run run, Gpu gpu, Method method, const ModelSource* weights);

// ... of ranks: what they exchange and how they wait for each other is taken for what stands between steps.
WholeSteps whole_steps_over(ParallelRun run, Cluster cluster, StepPricing with);

class ExactSteps {
 public:
  using Prompts = std::span<const PrefillChunk>;
  using Decodes = std::span<const Count>;  // tokens cached of each
  explicit ExactSteps(WholeSteps steps) : steps_(std::move(steps)) {}
  // One step: prompts, and requests that decode one token each. Not for several threads at a time: it keeps what it
  // forecasts.
  Result<Seconds> time(Prompts prompts, Decodes decodes);
  std::size_t priced() const { return priced_; }  // forecasts made so far

 private:
  using Key = std::array<std::int64_t, 4>;
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  struct Cell {
    std::vector<PricedCalls> calls;
    double amount = 1;
  };
  using Cells = std::unordered_map<Key, Cell, KeyHash>;
  // What tells lengths apart, and what times within a cell are proportional to: keys of requests that decode, pairs of
  // queries and keys of prompts.
  struct Lengths {
    Key key{};
    double amount = 0;
  };
  struct Scaled {
    const Cell* cell = nullptr;
    double by = 0;
  };
  static Lengths lengths_of(Prompts prompts);
  static Lengths lengths_of(Decodes decodes);
  Result<const PricedStep*> plain(const Key& key, Prompts prompts, Decodes decodes);
  Result<const Cell*> cell(Cells& cells, const Lengths& of, Prompts prompts, Decodes decodes);
  Result<std::vector<PricedCalls>> attention(Program& kept, Prompts prompts, Decodes decodes);
  Seconds total(const PricedStep& plain, const Scaled& prompts, const Scaled& decodes) const;

  WholeSteps steps_;
  std::unordered_map<Key, PricedStep, KeyHash> plain_;
  Cells prompts_, decodes_;
  Program prompt_attention_, decode_attention_;  // of a step before, to set other lengths in; empty: none, or of another kind
  Cell alone_;                                   // what was priced for this step only
  std::size_t priced_ = 0;
};

}  // namespace tilecast
