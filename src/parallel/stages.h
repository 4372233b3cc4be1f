// From what sections of a rank's graph cost to what pipeline stages do.
#pragma once

#include <array>
#include <vector>

#include "engine/step.h"
#include "parallel/exchange.h"
#include "parallel/layout.h"

namespace tilecast {

using AxisTimes = std::array<Seconds, kAxisNames.size()>;

// One pass of one repeat of a section, for one micro-batch.
struct PassCost {
  Seconds compute;
  Seconds bound;               // of the kernels
  Seconds weights;             // of compute: gradients of weights
  AxisTimes exposed, beside;   // exchanges that stop the section, and those that may run while it computes
  Seconds elapsed;             // with all of them
  AxisTimes open;              // what of the exchanges nothing hides
  Ops work, weights_work;      // model FLOPs, and those of gradients of weights
  Bytes moved, weights_moved;  // to and from memory, likewise
  // Sets the last two; an exchange holds `share` of the GPU.
  void finish(double share);
};
struct SectionCost {
  PassCost forward, backward;
  Count repeats = 1;
  Count dense = 0, experts = 0;  // weights of one repeat
  PassCost& of(Pass pass) { return pass == Pass::forward ? forward : backward; }
};

// How much longer kernels take because the host launches them too slowly.
double host_stretch(const ProgramForecast& step);

// One for each section of the rank's graph; the program is the graph's, with gradients where it trains.
std::vector<SectionCost> section_costs(const Graph& graph, const Program& program, const ProgramForecast& step);

// How often each section of the graph runs in each virtual stage: [stage][section].
std::vector<std::vector<Count>> section_counts(const ModelSpec& spec, const RankLayout& layout, const Graph& graph);

// One micro-batch in one virtual stage.
struct StageCost {
  Count layers = 0;
  Seconds forward, backward_input, backward_weight;  // elapsed
  Seconds compute, bound;                            // of all three, without exchanges
  AxisTimes total, exposed;
  Count dense = 0, experts = 0;  // weights
  StageCost& operator+=(const StageCost& other);
};
// Layers by number; what stands before them is the first stage's, what stands after the last one's.
std::vector<StageCost> assemble_stages(const ModelSpec& spec, const RankLayout& layout, const Graph& graph,
                                       const std::vector<SectionCost>& costs);

// The forward graph as each pipeline rank has it: the sections of its layers.
std::vector<Graph> rank_parts(const ModelSpec& spec, const RankLayout& layout, const Graph& forward);

}  // namespace tilecast
