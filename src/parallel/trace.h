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

// `title` is the trace's; ranks are the pipeline's. Spans of a rank that are not beside it do not overlap its tasks.
std::string lanes_json(const std::string& title, const PipelineTimeline& timeline, std::span<const LaneSpan> spans);

}  // namespace tilecast
