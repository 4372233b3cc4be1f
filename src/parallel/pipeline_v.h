// ZB-V: a zero-bubble pipeline whose ranks hold two chunks each, the model's first half down the ranks and its second
// half back up (Qi et al. 2024, "Pipeline Parallelism with Controllable Memory", https://arxiv.org/abs/2405.15362), in
// the order of PyTorch's ScheduleZBVZeroBubble. Where forward, gradients of inputs and gradients of weights take alike,
// no rank waits between its first and its last task, and every rank keeps what one rank of 1F1B keeps at most.
//
// DualPipeV: the same placement in the order of DeepSeek's DualPipe (arXiv 2412.19437, section 3.2.1;
// github.com/deepseek-ai/DualPipe, dualpipe.py), folded at the middle. There the ranks of the first half feed
// micro-batches from the front, those of the second from the back, and two ranks hold the same two stages; what one
// sends across the middle the other sends back at the same time, so that half the ranks with all of their micro-batches
// as a V take the same time. A forward and a backward of different micro-batches run at once, and each one's exchanges
// hide behind the other.
#pragma once

#include "parallel/pipeline.h"

namespace tilecast {

// The timeline, with its tasks where they are asked for.
PipelineTimeline simulate_v(const Pipeline& pipeline, bool with_tasks);

}  // namespace tilecast
