// ZB-V: a zero-bubble pipeline whose ranks hold two chunks each, the model's first half down the ranks and its second half
// back up (Qi et al. 2024, "Pipeline Parallelism with Controllable Memory", https://arxiv.org/abs/2405.15362), in the order
// of PyTorch's ScheduleZBVZeroBubble. Where forward, gradients of inputs and gradients of weights take alike, no rank waits
// between its first and its last task, and every rank keeps what one rank of 1F1B keeps at most.
#pragma once

#include "parallel/pipeline.h"

namespace tilecast {

// The timeline, with its tasks where they are asked for.
PipelineTimeline simulate_v(const Pipeline& pipeline, bool with_tasks);

}  // namespace tilecast
