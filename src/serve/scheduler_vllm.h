// vLLM V1 (vllm/v1/core/sched/scheduler.py, read at commit 00024d31, early 2026).
#pragma once

#include "serve/scheduler.h"

namespace tilecast {

// Requests that run come first, each with what it lacks: a token, or a part of its prompt. Where blocks are lacking the
// last of them is preempted and computes everything again later. Waiting requests follow in their order while tokens,
// places and blocks are left, unless somebody was preempted.
class VllmScheduler final : public Scheduler {
 public:
  using Scheduler::Scheduler;

 private:
  void fill(StepPlan& plan) override;
  void admit_waiting(StepPlan& plan, Count budget);
};

}  // namespace tilecast
