// A step over many GPUs as a trace with one lane a rank (support/chrome_trace.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "parallel/pipeline.h"

namespace tilecast {

// What stands beside a pipeline's tasks: gradients reduced, weights gathered, the optimizer.
struct LaneSpan {
  int rank = 0;
  std::string name, category;
  Seconds begin, end;
  bool beside = false;  // runs while tasks do: on a lane of its own below the rank's
};

// Ranks are the pipeline's. Spans of a rank that are not beside it do not overlap its tasks.
struct StepLanes {
  std::string title;
  PipelineTimeline timeline;
  std::vector<LaneSpan> spans;
  int alike = 1;  // GPUs that a lane stands for
};
// A process for each step.
std::string lanes_json(std::span<const StepLanes> steps);

}  // namespace tilecast
