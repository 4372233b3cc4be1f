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
  Seconds host;                // of launching kernels and exchanges; once shared out, of kernels that wait for it
  Seconds weights;             // of compute: gradients of weights
  AxisTimes exposed, beside;   // exchanges that stop the section, and those that may run while it computes
  Seconds copies;              // to or from the host's memory by copy engines, beside all else
  Seconds elapsed;             // with all of them, or the host where it is slower
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

// Of one rank's optimizer, all layers together.
struct UpdateCost {
  Seconds time, bound;
  Seconds host;
  Bytes moved;
};
UpdateCost update_cost(const Program& program, const ProgramForecast& step);

// Where the host launches a step's kernels and exchanges slower than the card runs the kernels: what it is behind is
// waited for where it falls behind, in proportion. Leaves each pass its kernels with their waits in `host`, and the
// update its own in `time`. Launches run ahead, so kernels that take longer than launching them make up for others.
void share_out_host(std::vector<SectionCost>& costs, const Program& program, UpdateCost& update);

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
  Seconds forward_tokens, backward_tokens;  // of each pass: tokens on the way to experts that nothing hides
  Count dense = 0, experts = 0;             // weights
  StageCost& operator+=(const StageCost& other);
};
// Weights of tables that the last stage has a copy of because the first one has them too: a tied embedding's, or that
// of heads for further tokens. None where one rank has both ends, and none that do not learn.
Count copied_table(const ModelSpec& spec, const RankLayout& layout, const Graph& graph);

// Layers by number; what stands before them is the first stage's, what stands after the last one's.
std::vector<StageCost> assemble_stages(const ModelSpec& spec, const RankLayout& layout, const Graph& graph,
                                       const std::vector<SectionCost>& costs);

// The forward graph as each pipeline rank has it: the sections of its layers.
std::vector<Graph> rank_parts(const ModelSpec& spec, const RankLayout& layout, const Graph& forward);

}  // namespace tilecast
