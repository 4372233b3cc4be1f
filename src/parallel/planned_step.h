// The step that a forecast is of, for those who look closer: nodes for simulators of networks (step_trace.h, chakra.h),
// lanes for people (trace.h).
#pragma once

#include <functional>

#include "parallel/forecast.h"
#include "parallel/step_trace.h"
#include "parallel/trace.h"

namespace tilecast {

// When the pipeline's ranks work; inference passes one batch through the stages.
Result<PipelineTimeline> step_timeline(const ParallelRun& run, const ParallelForecast& forecast);

// Sums of gradients and gathering of updated weights as each pipeline rank has them; the forecast keeps those of the
// busiest. `links` are those the forecast was made with.
struct TimedExchange {
  Exchange exchange;
  Seconds time;
};
Result<std::vector<std::vector<TimedExchange>>> step_exchanges_of(const ParallelRun& run,
                                                                  const ParallelForecast& forecast,
                                                                  const Cluster& cluster, const CommConstants& links);

// The timeline with what stands beside it. A lane stands for all ranks of a stage, which do the same; the last span
// ends with the step.
Result<StepLanes> step_lanes(const ParallelRun& run, const ParallelForecast& forecast, const Cluster& cluster,
                             const CommConstants& links);

// Nodes of a rank beyond which layers alike are written as one, and those of all ranks together.
inline constexpr Count kMostNodes = 10'000, kMostNodesInAll = 2'000'000;

// What every rank does in the step.
//
// A task of the pipeline is, section by section, a computation, the exchanges that may run beside it, and those that
// follow it; the next section waits for all of them, as the forecast has it. Gradients are exchanged layer by layer
// beside the last micro-batch's backward pass, updated weights gathered beside the first one's forward pass; where
// nothing overlaps, after the pass and after the optimizer. All collectives of a rank wait for the one before, so that
// every rank of a group comes to them in the same order.
struct StepNodes {
  CommGroups groups;
  int ranks = 1;
  Count merged = 1;  // layers alike that a node stands for, at most; their sizes and times are summed
  std::function<RankTrace(int rank)> trace_of;
};
Result<StepNodes> step_nodes(const ParallelRun& run, const ParallelForecast& forecast, const Cluster& cluster,
                             const CommConstants& links, Count most_nodes = kMostNodes);

}  // namespace tilecast
