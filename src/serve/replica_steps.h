// The steps that replicas run: when one starts, who starts with it, and what it is recorded as.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "serve/replica.h"
#include "serve/run_log.h"
#include "serve/simulation_events.h"

namespace tilecast {

using ServingReplicas = std::vector<std::unique_ptr<ServingReplica>>;

class ReplicaSteps {
 public:
  // `decoding`: replicas of the pool that decodes; those for prompts follow them.
  ReplicaSteps(const ServingReplicas& replicas, Count decoding, EventQueue& events, ServingOutcome& out)
      : replicas_(replicas), decoding_(decoding), events_(events), out_(out), log_(out) {}

  // The next step of a replica, and of those that step with it, where none of them runs one.
  void start(ServingReplica& r);
  RunLog& log() { return log_; }

 private:
  bool holds_prompts(Count first, Count last);
  void plan_next(Count first, Count last);
  std::pair<Count, Count> in_step_with(const ServingReplica& r) const;
  void run_step(ServingReplica& r, Seconds time);
  void enter_pipeline(ServingReplica& r);
  void wait_for_keys(StepSpent& spent, const KvMoves& moves, const PoolOptions& pool);
  void begin(const ServingReplica& r, const StepPlan& plan, Seconds end, const StepSpent& spent);

  const ServingReplicas& replicas_;
  Count decoding_;
  EventQueue& events_;
  ServingOutcome& out_;
  RunLog log_;
};

}  // namespace tilecast
