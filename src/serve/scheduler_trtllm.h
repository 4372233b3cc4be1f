// TensorRT-LLM's in-flight batching (cpp/tensorrt_llm/batch_manager/capacityScheduler.cpp, read at commit 02a10fed,
// 2025, and microBatchScheduler.cpp), and static batches.
#pragma once

#include "serve/scheduler.h"

namespace tilecast {

// GUARANTEED_NO_EVICT: a request starts where blocks for its whole prompt and answer are left beside what those that
// run will still need; nobody is ever paused. MAX_UTILIZATION: a request starts where its next step fits; where
// somebody does not fit any more, the last that started is paused and computes everything again. Answers come first in
// a step, then prompts while tokens are left; a prompt is cut only where chunked context is on.
class TrtllmScheduler final : public Scheduler {
 public:
  using Scheduler::Scheduler;

 private:
  void fill(StepPlan& plan) override;
  void admit_waiting(StepPlan& plan, Count budget);
  Count promised() const;  // blocks that running requests will still need
  bool keeps_waiting(Count budget);

  Count waited_ = 0;  // steps that prompts have waited for company
};

// A batch starts together, when the last one has ended; requests that end early leave their place empty.
class StaticScheduler final : public Scheduler {
 public:
  using Scheduler::Scheduler;

 private:
  void fill(StepPlan& plan) override;
  Count ended_ = 0, ended_context_ = 0;  // places that still cost a token each step, and their keys
};

}  // namespace tilecast
